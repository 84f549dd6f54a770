// One cell as the front sees it: the connection to its NATS, and what goes to it and comes from it.
//
// 1. A cell that is away holds up its own line and nothing else: the line is not read meanwhile.
// 2. What comes back, results and dead letters, is published on the same subject of the front's NATS.
// 3. A cell whose stream is the front's own is never used: its results would come back for ever. Nor is one whose NATS is that of
//    another front: it is looked at again every kCircleInterval, and left alone for as long as it is one.
#pragma once

#include <memory>
#include <string>

#include "engine/runtime/scope.h"
#include "engine/runtime/wait.h"
#include "prod/front/cells_file.h"
#include "prod/front/figures.h"
#include "prod/front/passage.h"
#include "prod/nats/nats_bus.h"

namespace lockstep::prod {

/// What holds for every durable of a front.
struct FrontTimes {
    engine::Duration ack_wait;
    std::int64_t rate_limit_bps = 0;
};

class Cell {
public:
    struct Ports {
        UvLoop& loop;
        const engine::Clock& clock;
        engine::Log& log;
        NatsBus& front;
    };

    /// Ports and figures outlive the cell. REQUIRES: an address that the cells file has taken.
    Cell(const Ports& ports, CellAddress address, FrontTimes times, const CellFigures& figures);
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    /// Whether it is connected and its line is read.
    [[nodiscard]] bool is_used() const { return set_up_ && !in_circle_ && bus_->connection().connected; }

    /// Passes a cancellation on, if the cell is used: schedulers pass over jobs that they do not know.
    [[nodiscard]] engine::Task<void> cancel(std::string payload);
    /// Sets the gauge of those that stand in its line; an answer that does not come leaves it as it is.
    [[nodiscard]] engine::Task<void> count_waiting();
    /// Ends once nothing is in hand.
    [[nodiscard]] engine::Task<void> finish();

private:
    void on_connection(bool connected, const std::string& what);
    /// Until the cell is used for the first time.
    [[nodiscard]] engine::Task<void> set_up();
    /// What is in the way; empty: nothing.
    [[nodiscard]] engine::Task<std::string> set_up_once();
    /// The same where the cell's NATS is that of a front.
    [[nodiscard]] engine::Task<std::string> front_in_the_way();
    /// For as long as the cell is used.
    [[nodiscard]] engine::Task<void> keep_out_of_circles();
    void read_on();
    [[nodiscard]] engine::Task<std::optional<Parcel>> to_cell(engine::Delivery& delivery);
    [[nodiscard]] engine::Task<std::optional<Parcel>> to_front(engine::Delivery& delivery);
    [[nodiscard]] Passage::Handlers returning(prometheus::Counter& taken, prometheus::Counter& refused,
                                              prometheus::Counter& aside);
    [[nodiscard]] engine::Task<std::uint64_t> largest_of(NatsBus& bus);
    [[nodiscard]] engine::Task<bool> set_aside(const engine::Delivery& delivery, bool to_cell, std::string why,
                                               prometheus::Counter& aside);
    [[nodiscard]] Passage::Ports passage_ports() const { return {ports_.loop, ports_.clock, ports_.log}; }

    Ports ports_;
    const std::string name_;
    const FrontTimes times_;
    CellFigures figures_;
    bool set_up_ = false;
    bool finishing_ = false;
    bool in_circle_ = false;  // its NATS is that of another front
    engine::WaitQueue connected_;
    std::unique_ptr<NatsBus> bus_;
    Passage line_;
    Passage results_;
    Passage letters_;
    engine::Scope scope_;  // last: its task uses everything above
};

}  // namespace lockstep::prod
