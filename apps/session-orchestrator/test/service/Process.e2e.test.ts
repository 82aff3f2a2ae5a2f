/** Stops the service as a process, beside a provider on a socket. */
import { assert, describe } from "@effect/vitest"
import { Duration, Effect } from "effect"
import * as Net from "node:net"
import { ANSWER_GRACE } from "../../src/http/HttpServer.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as SideBySide from "./SideBySide.ts"

const test = SideBySide.atOnce(2)

describe.concurrent("a process that is stopped", () => {
  test("ends at once and with 0 while a turn sleeps and another's response is awaited; both continue after the start", function* () {
    const { provider, start } = yield* ProcessSetup.setup({ delays: ["1 hour"], isGated: false })
    const held = ProcessSetup.gated("Held", 0)
    const calls = ProcessSetup.script(provider, {
      one: [ProcessSetup.overloaded, ProcessSetup.answer("At last")],
      two: [held.response, ProcessSetup.answer("Then")]
    })
    const first = yield* start
    const id = yield* first.create()
    const live = yield* first.open(ProcessSetup.request(id, "one"))
    yield* live.until("provider-retry")
    const other = yield* first.create()
    assert.strictEqual((yield* first.call(ProcessSetup.submission(other, "two"))).status, 202)
    yield* provider.received(2)
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
    assert.strictEqual(ProcessSetup.endOf(yield* ProcessSetup.turn(second, id, "one")).attempts, 2)
    assert.deepStrictEqual(yield* second.history(id), ["user: one", "assistant: At last"])
    assert.strictEqual(ProcessSetup.endOf(yield* ProcessSetup.turn(second, other, "two")).status, "completed")
    assert.deepStrictEqual(calls.toSorted(), ["one", "one", "two", "two"])
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
