#include "engine/reconcile/leader_watch.h"

#include "engine/wire/subjects.h"

namespace lockstep::engine {

LeaderWatch::LeaderWatch(Bus& bus, std::string stream, std::string durable)
    : bus_(bus), subject_(wire::leader_elected_subject(stream, durable)) {}

LeaderWatch::Heard LeaderWatch::heard() const { return {subscription_ != nullptr, elections_, bus_.connection().id}; }

void LeaderWatch::listen() {
    if (subscription_ == nullptr) subscription_ = bus_.subscribe(subject_, "", *this);
}

void LeaderWatch::on_message(std::string_view, std::string_view) { ++elections_; }

}  // namespace lockstep::engine
