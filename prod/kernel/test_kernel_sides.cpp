#include "prod/kernel/test_kernel_sides.h"

#include <string>

namespace lockstep::prod {

namespace {

const char* topic_of(const Step& step) {
    if (step.weather == Weather::large_answer) return "job.long";
    return step.refusing && !step.output ? "job.no" : "job.a";
}

/// Makes the encoding `size` bytes long by its content.
template <class Request, class Content>
void fill(Request& request, Content content, std::size_t size) {
    // Long enough already for the length itself to take as many bytes as it will.
    content(request).assign(size - 100, ' ');
    const std::size_t more = size - request.ByteSizeLong();
    content(request).append(more, ' ');
}

template <class Request, class Content>
void fill_for(Request& request, Content content, Weather weather) {
    if (weather == Weather::largest_request) fill(request, content, kMessageBytesMax);
    if (weather == Weather::too_large_request) fill(request, content, kMessageBytesMax + 1);
}

}  // namespace

cap::PolicyCheckRequest check_request(const Step& step) {
    cap::PolicyCheckRequest request;
    request.set_job_id("j1");
    request.set_topic(topic_of(step));
    fill_for(request, [](auto& what) -> std::string& { return *what.mutable_input_content(); }, step.weather);
    return request;
}

cap_output::OutputCheckRequest output_request(const Step& step) {
    cap_output::OutputCheckRequest request;
    request.set_job_id("j1");
    request.set_topic(topic_of(step));
    if (step.refusing) request.set_error_message("a secret");
    fill_for(request, [](auto& what) -> std::string& { return *what.mutable_output_content(); }, step.weather);
    return request;
}

}  // namespace lockstep::prod
