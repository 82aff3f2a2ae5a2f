/** Kills and stops the service as a process, beside a provider on a socket. */
import { assert, describe } from "@effect/vitest"
import { Duration, Effect } from "effect"
import * as Net from "node:net"
import { ANSWER_GRACE } from "../../src/http/HttpServer.ts"
import { stillWaits, withWait } from "./LongerWaits.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as SideBySide from "./SideBySide.ts"

const test = SideBySide.atOnce(2)

describe.concurrent("a process that is killed", () => {
  test("rule X1, X15: a turn asleep keeps its attempts, wakes at its time, and those behind it follow in order, watched or left", function* () {
    yield* withWait(
      4.5,
      Effect.fnUntraced(function* (seconds) {
        const { provider, start } = yield* ProcessSetup.setup({
          delays: ["20 millis", `${seconds} seconds`],
          isGated: false
        })
        const calls = ProcessSetup.script(provider, {
          two: [ProcessSetup.answer("And then")],
          one: [ProcessSetup.overloaded, ProcessSetup.overloaded, ProcessSetup.answer("At last")],
          control: [ProcessSetup.overloaded, ProcessSetup.overloaded, ProcessSetup.answer("Later")]
        })
        const first = yield* start
        const id = yield* first.create()
        const one = yield* first.open(ProcessSetup.request(id, "one"))
        yield* one.until('"attempt":1')
        assert.strictEqual((yield* first.call(ProcessSetup.submission(id, "two"))).status, 202)
        const before = yield* first.state(id)
        const states = (service: ProcessSetup.Running) => Effect.all([service.turn("one"), service.turn("two")])
        const turns = yield* states(first)
        yield* stillWaits(before.retryAt)
        assert.deepStrictEqual(
          turns.map(({ status, wait }) => [status, wait?.retryAt]),
          [
            ["waiting", before.retryAt],
            ["queued", undefined]
          ]
        )
        yield* first.end("SIGKILL")

        const second = yield* start
        const after = [yield* second.state(id), yield* states(second)]
        yield* stillWaits(before.retryAt)
        assert.deepStrictEqual(after, [before, turns])
        // A turn whose whole wait lies in this life: a turn that restarted its wait would come after it.
        const control = yield* second.open(ProcessSetup.request(yield* second.create(), "control"))
        yield* control.until('"attempt":1')
        yield* stillWaits(before.retryAt)
        yield* Process.eventually("the third call", Effect.sync(provider.count), (count) => count >= 5)
        assert.deepStrictEqual(calls.slice(0, 5), ["one", "one", "control", "control", "one"])
        assert.isAtLeast(Date.now(), before.retryAt ?? Infinity)
        const then = yield* Process.eventually("the end", second.turn("two"), ({ status }) => status === "completed")
        assert.deepInclude(then, { text: "And then", attempts: 1 })
        assert.strictEqual((yield* second.call(ProcessSetup.submission(id, "two"))).status, 202)
        assert.strictEqual(ProcessSetup.endOf(yield* ProcessSetup.turn(second, id, "one")).attempts, 3)
        assert.deepStrictEqual(yield* second.history(id), [
          "user: one",
          "assistant: At last",
          "user: two",
          "assistant: And then"
        ])
        yield* control.until("turn-end")
        assert.strictEqual(provider.count(), 7)
      })
    )
  })
})

describe.concurrent("a process that is stopped", () => {
  test("ends at once and with 0 while a turn sleeps; the turn continues after the start", function* () {
    const { provider, start } = yield* ProcessSetup.setup({ delays: ["1 hour"] })
    provider.respond(ProcessSetup.overloaded, ProcessSetup.answer("At last"))
    const first = yield* start
    const id = yield* first.create()
    const live = yield* first.open(ProcessSetup.request(id, "one"))
    yield* live.until("provider-retry")
    const before = yield* first.state(id)
    const [took, { code, stderr }] = yield* Effect.timed(first.end("SIGTERM"))
    assert.strictEqual(code, 0)
    assertNotAwaited(took)
    assert.match(stderr, /^[^\n]+has started[^\n]+\n[^\n]+Stopping after SIGTERM[^\n]+\n[^\n]+has stopped[^\n]+\n$/)
    // Its stream broke off, and does not look complete.
    yield* Effect.flip(live.rest)

    const second = yield* start
    assert.deepStrictEqual(yield* second.state(id), before)
    yield* second.call({ method: "POST", path: `/v1/conversations/${id}/retry-now` })
    yield* provider.received(2)
    assert.strictEqual(ProcessSetup.endOf(yield* ProcessSetup.turn(second, id, "one")).attempts, 2)
    assert.deepStrictEqual(yield* second.history(id), ["user: one", "assistant: At last"])
  })

  test("ends at once while a response is awaited; the attempt is made again after the start", function* () {
    const { provider, start } = yield* ProcessSetup.setup()
    const { gate, response } = ProcessSetup.gated("Once", 1)
    provider.respond(response, ProcessSetup.answer("Once"))
    const first = yield* start
    const id = yield* first.create()
    yield* first.open(ProcessSetup.request(id, "one"))
    yield* gate.reached
    const [took, { code }] = yield* Effect.timed(first.end("SIGTERM"))
    assert.strictEqual(code, 0)
    assertNotAwaited(took)

    const second = yield* start
    assert.strictEqual(ProcessSetup.endOf(yield* ProcessSetup.turn(second, id, "one")).status, "completed")
    assert.deepStrictEqual(yield* second.history(id), ["user: one", "assistant: Once"])
    assert.strictEqual(provider.count(), 2)
  })

  test("ends at once, with 130, at the second signal", function* () {
    const service = yield* Effect.flatMap(ProcessSetup.setup(), ({ start }) => start)
    // Half a request delays the shutdown for as long as it may.
    yield* halfRequest(service.port)
    service.child.kill("SIGTERM")
    yield* Process.eventually("the first signal to be heard", Effect.sync(service.stderr), (text) =>
      text.includes("Stopping")
    )
    const { code } = yield* service.end("SIGTERM")
    assert.strictEqual(code, 130)
  })
})

// --- internal

/** The shutdown did not wait for the turn: otherwise it would have taken all of the grace period. */
const assertNotAwaited = (took: Duration.Duration): void =>
  assert.isBelow(Duration.toMillis(took), Duration.toMillis(ANSWER_GRACE))

/** A request without its body. */
const halfRequest = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<Net.Socket>((resume) => {
      const socket = Net.connect(port, "127.0.0.1", () => {
        const head = "POST /v1/conversations HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json"
        socket.write(`${head}\r\ncontent-length: 100\r\n\r\n{`, () => resume(Effect.succeed(socket)))
      })
      socket.on("error", () => socket.destroy())
    }),
    (socket) => Effect.sync(() => void socket.destroy())
  )
