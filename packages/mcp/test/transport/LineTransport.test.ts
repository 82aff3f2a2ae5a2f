import { assert, describe, it } from "@effect/vitest"
import type { JSONRPCMessage } from "@modelcontextprotocol/client"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as Intake from "../../src/transport/Intake.ts"
import { LineTransport, MAX_MESSAGE_BYTES } from "../../src/transport/LineTransport.ts"

const request = (id: number | string, method = "tools/call"): JSONRPCMessage => ({ jsonrpc: "2.0", id, method })
const answer = (id: number | string, result: Record<string, unknown> = {}): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  result
})
const CHANGED: JSONRPCMessage = { jsonrpc: "2.0", method: "notifications/tools/list_changed" }

const bytesOf = (...lines: ReadonlyArray<unknown>): Uint8Array =>
  Buffer.from(lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""))

const make = (now: () => number = () => 0) => {
  const written: Array<string> = []
  const heard: Array<JSONRPCMessage> = []
  const transport = new LineTransport((line) => written.push(line), now)
  let isClosed = false
  Object.assign(transport, {
    onmessage: (message: JSONRPCMessage) => heard.push(message),
    onclose: () => {
      isClosed = true
    }
  })
  return { transport, written, heard, isClosed: () => isClosed }
}

/** Why reading ends the connection; `undefined` if it continues. */
const read = (transport: LineTransport, chunk: Uint8Array) =>
  Effect.match(transport.read(chunk), { onSuccess: () => undefined, onFailure: (why) => why })

/** A line of `size` bytes without its end. */
const lineOf = (size: number): Uint8Array => Buffer.alloc(size, "x")

describe("messages, one a line", () => {
  it.effect("are written with a line feed, and read with any split of the output", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.string({ unit: "grapheme" }), { maxLength: 5 }),
          fc.array(fc.nat(300)),
          async (texts, cuts) => {
            const { heard, transport, written } = make()
            for (const id of texts.keys()) await transport.send(request(id))
            assert.deepStrictEqual(
              written,
              [...texts.keys()].map((id) => `${JSON.stringify(request(id))}\n`)
            )
            const answers = texts.map((text, id) => answer(id, { text }))
            const bytes = bytesOf(...answers)
            const edges = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]
            for (const [n, end] of edges.slice(1).entries()) {
              assert.isUndefined(await Effect.runPromise(read(transport, bytes.subarray(edges[n], end))))
            }
            assert.deepStrictEqual(heard, answers)
          }
        )
      )
    )
  )

  it.effect("other lines are ignored, and messages after them are received", () =>
    Effect.gen(function* () {
      const { heard, transport } = make()
      yield* Effect.promise(() => transport.send(request(1)))
      const none = [
        "Listening on port 80",
        "",
        "[1, 2]",
        "{",
        { jsonrpc: "1.0", id: 1, result: {} },
        { id: 1, result: {} },
        { jsonrpc: "2.0", id: {}, result: {} },
        { jsonrpc: "2.0", id: 1, method: 7 },
        { jsonrpc: "2.0", id: true, method: "ping" },
        { jsonrpc: "2.0", id: 9, method: "ping", params: "none" }
      ]
      assert.isUndefined(yield* read(transport, bytesOf(...none)))
      assert.deepStrictEqual(heard, [])
      const more = [`  ${JSON.stringify(answer(1))}`, request("a", "ping"), CHANGED, answer(1)]
      assert.isUndefined(yield* read(transport, bytesOf(...more)))
      assert.deepStrictEqual(heard, [answer(1), request("a", "ping"), CHANGED]) // an answer is received once
    })
  )

  it.effect("other lines beyond their budget end the connection, in any form", () =>
    Effect.gen(function* () {
      // A line of 99 KiB costs as much as 100 short ones.
      const spent = Buffer.concat(
        Array.from({ length: Intake.JUNK.burst / 100 }, () => Buffer.concat([lineOf(99 * 1_024), Buffer.from("\n")]))
      )
      const unasked = { jsonrpc: "2.0", id: 9, result: {} }
      const malformed = { jsonrpc: "2.0", id: 9, method: "ping", params: "none" }
      for (const junk of ["print", "{", unasked, malformed]) {
        const { transport } = make()
        assert.isUndefined(yield* read(transport, spent))
        assert.strictEqual(yield* read(transport, bytesOf(junk)), Intake.TOO_MUCH_JUNK)
      }
    })
  )

  it.effect("a line of the largest size is read, and one byte more ends the connection before the line's end", () =>
    Effect.gen(function* () {
      const { heard, transport } = make()
      yield* Effect.promise(() => transport.send(request(1)))
      const json = JSON.stringify(answer(1))
      const largest = Buffer.from(json.padEnd(MAX_MESSAGE_BYTES, " "))
      assert.isUndefined(yield* read(transport, largest.subarray(0, 1_000)))
      assert.isUndefined(yield* read(transport, Buffer.concat([largest.subarray(1_000), Buffer.from("\n")])))
      assert.deepStrictEqual(heard, [answer(1)])

      const why = "it sent a message of more than 8 MiB, and was stopped"
      assert.strictEqual(
        yield* read(make().transport, Buffer.concat([lineOf(MAX_MESSAGE_BYTES + 1), Buffer.from("\n")])),
        why
      )
      const { transport: other } = make()
      // Each line may have the whole size.
      assert.isUndefined(
        yield* read(other, Buffer.concat([lineOf(1_000_000), Buffer.from("\n"), lineOf(MAX_MESSAGE_BYTES)]))
      )
      assert.strictEqual(yield* read(other, lineOf(1)), why)
    })
  )

  it.effect("a server that does not read its input gets no answers to its own requests, until it reads again", () =>
    Effect.gen(function* () {
      const { heard, transport, written } = make()
      const sent = request(1)
      const rest = 1_048_576 - `${JSON.stringify(sent)}\n`.length
      yield* Effect.promise(() => transport.send(sent))
      const long = { jsonrpc: "2.0", method: "" } as const
      yield* Effect.promise(() =>
        transport.send({ ...long, method: "x".repeat(rest - `${JSON.stringify(long)}\n`.length) })
      )
      yield* read(transport, bytesOf(request("a", "ping")))
      yield* Effect.promise(() => transport.send(long))
      yield* read(transport, bytesOf(request("b", "ping"), answer(1), CHANGED))
      transport.sent(written[1] ?? "")
      yield* read(transport, bytesOf(request("c", "ping")))
      assert.deepStrictEqual(heard, [request("a", "ping"), answer(1), CHANGED, request("c", "ping")])
    })
  )

  it.effect("are not read faster than their rate: the rest of a chunk waits and is read later", () =>
    Effect.gen(function* () {
      const clock = yield* TestClock.testClockWith(Effect.succeed)
      const { heard, transport } = make(() => clock.currentTimeMillisUnsafe())
      const { burst, perSecond } = Intake.UNREQUESTED
      const notifications = (count: number) => Array.from({ length: count }, () => '{"jsonrpc":"2.0","method":"n"}')
      yield* read(transport, bytesOf(...notifications(burst)))
      const chunk = bytesOf(...notifications(Intake.WORK_PER_TURN), CHANGED)
      const reading = yield* Effect.forkChild(read(transport, chunk), { startImmediately: true })
      const ms = (1_000 * Intake.WORK_PER_TURN) / perSecond
      yield* TestClock.adjust(ms - 1)
      assert.deepStrictEqual(heard, [])
      yield* TestClock.adjust(1)
      assert.isUndefined(yield* Fiber.join(reading))
      assert.deepStrictEqual(heard, [CHANGED])
    })
  )

  it.effect("let the event loop turn between pieces of work", () =>
    Effect.gen(function* () {
      const { heard, transport } = make()
      const chunk = bytesOf(...Array.from({ length: 2 * Intake.WORK_PER_TURN }, () => CHANGED))
      const seen: Array<number> = []
      const reading = yield* Effect.forkChild(read(transport, chunk), { startImmediately: true })
      seen.push(heard.length)
      yield* Effect.yieldNow
      seen.push(heard.length)
      yield* Fiber.join(reading)
      seen.push(heard.length)
      assert.deepStrictEqual(
        seen,
        [1, 2, 2].map((turns) => turns * Intake.WORK_PER_TURN)
      )
    })
  )

  it("report their end when they are closed", async () => {
    const { isClosed, transport } = make()
    await transport.start()
    assert.isFalse(isClosed())
    await transport.close()
    assert.isTrue(isClosed())
  })
})
