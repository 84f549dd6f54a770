#include "prod/worker/child_process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace lockstep::prod {

struct ChildProcess::State {
    uv_process_t process{};
    uv_pipe_t input{};
    uv_pipe_t output{};
    uv_write_t write{};
    std::string input_bytes;
    ChildResult result;
    engine::OneShot<ChildResult>::Sender done;
    std::array<char, 65536> buffer{};
    bool exited = false;
    bool output_ended = false;
    int open_handles = 3;

    explicit State(engine::OneShot<ChildResult>::Sender sender) : done(std::move(sender)) {
        process.data = input.data = output.data = write.data = this;
    }

    template <class Handle>
    void close(Handle& handle) {
        auto* base = reinterpret_cast<uv_handle_t*>(&handle);
        if (uv_is_closing(base) != 0) return;
        uv_close(base, [](uv_handle_t* closed) {
            auto* self = static_cast<State*>(closed->data);
            if (--self->open_handles == 0) delete self;
        });
    }
    void close_all() {
        close(process);
        close(input);
        close(output);
    }
    void check_end() {
        if (exited && output_ended) done.send(std::move(result));
    }
    void signal_group(int number) const {
        if (!exited && process.pid > 0) kill(-process.pid, number);
    }
};

ChildProcess::ChildProcess(UvLoop& loop, const std::string& command, std::vector<std::string> environment, std::string input)
    : state_(new State(done_.sender())) {
    State& state = *state_;
    state.input_bytes = std::move(input);
    uv_pipe_init(loop.uv(), &state.input, 0);
    uv_pipe_init(loop.uv(), &state.output, 0);

    std::vector<char*> words;
    std::string shell = "/bin/sh";
    std::string flag = "-c";
    std::string text = command;
    for (std::string* word : {&shell, &flag, &text}) words.push_back(word->data());
    words.push_back(nullptr);
    std::vector<char*> variables;
    for (char** entry = environ; *entry != nullptr; ++entry) variables.push_back(*entry);
    for (auto& entry : environment) variables.push_back(entry.data());
    variables.push_back(nullptr);
    std::array<uv_stdio_container_t, 3> stdio{};
    stdio[0].flags = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_READABLE_PIPE);
    stdio[0].data.stream = reinterpret_cast<uv_stream_t*>(&state.input);
    stdio[1].flags = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
    stdio[1].data.stream = reinterpret_cast<uv_stream_t*>(&state.output);
    stdio[2].flags = UV_INHERIT_FD;
    stdio[2].data.fd = 2;

    uv_process_options_t options{};
    options.file = shell.c_str();
    options.args = words.data();
    options.env = variables.data();
    options.stdio = stdio.data();
    options.stdio_count = static_cast<int>(stdio.size());
    options.flags = UV_PROCESS_DETACHED;  // a group of its own, so that its children end with it
    options.exit_cb = [](uv_process_t* process, std::int64_t status, int number) {
        auto* self = static_cast<State*>(process->data);
        self->exited = true;
        self->result.exit_status = static_cast<int>(status);
        self->result.signal = number;
        self->check_end();
    };
    if (const int status = uv_spawn(loop.uv(), &state.process, &options); status < 0) {
        state.result.error = uv_strerror(status);
        state.exited = state.output_ended = true;
        state.check_end();
        return;
    }
    read_output(state);
    write_input(state);
}

void ChildProcess::read_output(State& state) {
    const auto give_space = [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
        auto& space = static_cast<State*>(handle->data)->buffer;
        *buffer = uv_buf_init(space.data(), static_cast<unsigned>(space.size()));
    };
    const auto take = [](uv_stream_t* stream, ssize_t got, const uv_buf_t* buffer) {
        auto* self = static_cast<State*>(stream->data);
        if (got < 0) {
            self->output_ended = true;
            self->check_end();
            return;
        }
        const auto room = kOutputMax - self->result.output.size();
        if (static_cast<std::size_t>(got) > room) self->result.truncated = true;
        self->result.output.append(buffer->base, std::min(room, static_cast<std::size_t>(got)));
    };
    uv_read_start(reinterpret_cast<uv_stream_t*>(&state.output), give_space, take);
}

void ChildProcess::write_input(State& state) {
    const uv_buf_t bytes = uv_buf_init(state.input_bytes.data(), static_cast<unsigned>(state.input_bytes.size()));
    // A command that does not read its input ends this with an error, which is its own affair.
    const int status =
        uv_write(&state.write, reinterpret_cast<uv_stream_t*>(&state.input), &bytes, 1,
                 [](uv_write_t* write, int) { static_cast<State*>(write->data)->close(static_cast<State*>(write->data)->input); });
    if (status < 0) state.close(state.input);
}

ChildProcess::~ChildProcess() {
    state_->signal_group(SIGKILL);
    state_->close_all();
}

engine::Task<ChildResult> ChildProcess::finished() {
    auto result = co_await done_.receive();
    co_return result;
}

void ChildProcess::terminate() { state_->signal_group(SIGTERM); }

}  // namespace lockstep::prod
