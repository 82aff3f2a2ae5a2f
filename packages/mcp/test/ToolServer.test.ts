import { assert, describe, it } from "@effect/vitest"
import type { Toolbox } from "@holdfast/kernel"
import { Clock, Duration, Effect, Fiber, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import type { ToolServerConfig } from "../src/ToolServerConfig.ts"
import { CallError } from "../src/Connection.ts"
import * as Offers from "../src/Offers.ts"
import * as ToolServer from "../src/ToolServer.ts"
import * as TestToolServers from "../testing/index.ts"
import { connect, Life, offer } from "./ScriptedConnection.ts"

const start = Effect.fnUntraced(function* (
  starts: Parameters<typeof connect>[0],
  given: Partial<ToolServerConfig> = {}
) {
  const server = yield* ToolServer.make(TestToolServers.server("s", given), connect(starts))
  yield* TestClock.adjust(0)
  return server
})

/** The outcome of a call within some time on the clock. */
const after = Effect.fnUntraced(function* (
  call: Effect.Effect<Toolbox.ToolOutcome>,
  duration: Duration.Input
): Effect.fn.Return<string> {
  const fiber = yield* Effect.forkChild(call, { startImmediately: true })
  yield* TestClock.adjust(duration)
  const { isError, output } = yield* Fiber.join(fiber)
  return `${isError ? "ERROR " : ""}${String(output)}`
})

const lines: Array<string> = []
const said = Layer.mergeAll(
  Logger.layer([Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))]),
  Layer.succeed(References.MinimumLogLevel, "Debug")
)
/** The log lines since the last call. */
const news = () => lines.splice(0)

const names = (server: ToolServer.ToolServer) => server.known().map(({ name }) => name)

describe("a tool server", () => {
  it.effect("offers what it lists, and answers calls", () =>
    Effect.gen(function* () {
      const server = yield* start([new Life("a", "b")])
      yield* server.tried
      assert.isTrue(server.isOffered())
      assert.deepStrictEqual(names(server), ["a", "b"])
      assert.strictEqual(yield* after(server.call("a", {}), 0), "done")
    }).pipe(Effect.scoped)
  )

  it.effect("offers tools that are allowed and not denied", () =>
    Effect.gen(function* () {
      const server = yield* start([new Life("read", "read_all", "write", "wipe")], {
        allow: ["read*", "w*"],
        deny: ["wipe"]
      })
      assert.deepStrictEqual(names(server), ["read", "read_all", "write"])
    }).pipe(Effect.scoped)
  )

  it.effect("lists its tools again when it reports a change, once a second at most", () =>
    Effect.gen(function* () {
      const life = new Life("a")
      const server = yield* start([life])
      life.tools = [offer("a"), offer("b")]
      for (let n = 0; n < 10; n++) yield* life.changes
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(names(server), ["a", "b"])
      const lists = life.lists
      for (let n = 0; n < 1_000; n++) yield* life.changes
      yield* TestClock.adjust("900 millis")
      assert.strictEqual(life.lists, lists)
      yield* TestClock.adjust("100 millis")
      assert.strictEqual(life.lists, lists + 1)
    }).pipe(Effect.scoped)
  )

  it.effect("that dies in a call costs that call, and is started again a second later", () =>
    Effect.gen(function* () {
      const [first, second] = [new Life("a"), new Life("a")]
      first.answers = Effect.never
      const server = yield* start([first, second])
      const calls = yield* Effect.forkChild(
        Effect.all([server.call("a", {}), server.call("a", {})], { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      yield* first.dies("its process ended (exit code 7)")
      yield* TestClock.adjust(0)
      for (const { isError, output } of yield* Fiber.join(calls)) {
        assert.isTrue(isError)
        assert.strictEqual(
          output,
          'The tool server "s" failed in this call: its process ended (exit code 7). Whether it took effect is unknown.'
        )
      }
      assert.isTrue(first.isClosed)
      // A call meanwhile waits for it.
      assert.strictEqual(yield* after(server.call("a", {}), "1 second"), "done")
      assert.isTrue(server.isOffered())
    }).pipe(Effect.scoped)
  )

  it.effect("that cannot be started again is withdrawn, and a call to it is answered with the reason after 5 s", () =>
    Effect.gen(function* () {
      const life = new Life("a")
      const server = yield* start([life, ...Array.from({ length: 3 }, () => "there is no database"), new Life("a")])
      yield* life.dies("gone")
      yield* TestClock.adjust("999 millis")
      assert.isTrue(server.isOffered())
      yield* TestClock.adjust("1 millis")
      assert.isFalse(server.isOffered())
      assert.deepStrictEqual(names(server), ["a"])
      assert.strictEqual(
        yield* after(server.call("a", {}), "5 seconds"),
        'ERROR The tool server "s" is not running: there is no database. It is being started again.'
      )
      yield* TestClock.adjust("12 seconds")
      assert.isTrue(server.isOffered())
    }).pipe(Effect.scoped)
  )

  it.effect("is started again after 1 s, 2 s, 5 s, 10 s, 30 s and every minute, until a run succeeds", () =>
    Effect.gen(function* () {
      const lives = [new Life("a"), new Life("a"), new Life("a")] as const
      const [steady, useful, useless] = lives
      const next = connect([...Array.from({ length: 7 }, () => "no"), steady, useful, useless])
      const starts: Array<number> = []
      const server = yield* ToolServer.make(
        TestToolServers.server("s"),
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          starts.push(now / 1_000)
          return next
        })
      )
      yield* TestClock.adjust("168 seconds")
      assert.deepStrictEqual(starts, [0, 1, 3, 8, 18, 48, 108, 168])
      // This run lasts; the next one dies at once, but has answered; the one after that has done neither.
      yield* TestClock.adjust("30 seconds")
      yield* steady.dies("gone")
      yield* TestClock.adjust("1 second")
      yield* after(server.call("a", {}), 0)
      yield* useful.dies("gone")
      yield* TestClock.adjust("1 second")
      yield* useless.dies("gone")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(starts.slice(8), [199, 200, 202])
    }).pipe(Effect.scoped)
  )

  it.effect("that hangs has its calls timed out, is pinged, and started again if it does not answer", () =>
    Effect.gen(function* () {
      const [first, second] = [new Life("a"), new Life("a")]
      first.answers = Effect.never
      const server = yield* start([first, second], { timeout: Duration.seconds(20) })
      assert.strictEqual(
        yield* after(server.call("a", {}), "20 seconds"),
        'ERROR The tool server "s" failed in this call: no answer within 20s. Whether it took effect is unknown.'
      )
      // It is only slow: it answers the ping and stays.
      assert.strictEqual(first.pings, 1)
      yield* TestClock.adjust("10 seconds")
      assert.isFalse(first.isClosed)

      first.pong = Effect.never
      yield* after(server.call("a", {}), "20 seconds")
      assert.strictEqual(first.pings, 2)
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(first.isClosed)
      assert.strictEqual(yield* after(server.call("a", {}), "1 second"), "done")
    }).pipe(Effect.scoped)
  )

  it.effect("that never comes up is given up after its time limit, and delays no turn longer", () =>
    Effect.gen(function* () {
      const server = yield* start(["never", new Life("a")], { startTimeout: Duration.seconds(3) })
      const tried = yield* Effect.forkChild(server.tried, { startImmediately: true })
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(tried)
      assert.isFalse(server.isOffered())
      yield* TestClock.adjust("1 second")
      assert.isTrue(server.isOffered())
    }).pipe(Effect.scoped)
  )

  it.effect("may refuse a call: the model gets the refusal, and the server is not pinged", () =>
    Effect.gen(function* () {
      const life = new Life("a")
      life.answers = new CallError({ message: "a is not what I do today", isRefusal: true })
      const server = yield* start([life])
      assert.strictEqual(
        yield* after(server.call("a", {}), "10 seconds"),
        'ERROR The tool server "s" refused the call: a is not what I do today'
      )
      assert.strictEqual(life.pings, 0)
      assert.strictEqual(yield* after(server.call("a", [1]), 0), "ERROR The arguments of a call must be a JSON object.")
    }).pipe(Effect.scoped)
  )

  it.effect("whose output is too long is cut, with a notice", () =>
    Effect.gen(function* () {
      const life = new Life("a")
      life.answers = Effect.succeed("x".repeat(100))
      const server = yield* start([life], { maxOutput: 10 })
      assert.strictEqual(
        yield* after(server.call("a", {}), 0),
        `${"x".repeat(10)}\n[Holdfast cut this output: it has 100 bytes, and the first 10 are above.]`
      )
    }).pipe(Effect.scoped)
  )

  it.effect(
    "ToolServer.S2: is started again a second later, however often it dies, if each run lasts half a minute",
    () =>
      Effect.gen(function* () {
        const lives = Array.from({ length: 4 }, () => new Life("a"))
        const server = yield* start(lives)
        const livesFor = (n: number, ms: number) =>
          Effect.gen(function* () {
            yield* TestClock.adjust(ms)
            yield* lives[n]?.dies("exit code 1") ?? Effect.void
            yield* TestClock.adjust(999)
            const before = lives[n + 1]?.lists
            yield* TestClock.adjust(1)
            return [before, lives[n + 1]?.lists]
          })
        const steady = Duration.toMillis(ToolServer.STEADY)
        assert.deepStrictEqual(yield* livesFor(0, steady), [0, 1])
        assert.deepStrictEqual(yield* livesFor(1, steady), [0, 1])
        assert.deepStrictEqual(yield* livesFor(2, steady - 1), [0, 0])
        assert.include(server.because(), "exit code 1")
      }).pipe(Effect.scoped)
  )

  it.effect("accepts an object as arguments, and nothing else", () =>
    Effect.gen(function* () {
      const server = yield* start([new Life("a")])
      for (const input of [[], null, "a", 1, true]) {
        assert.strictEqual(
          yield* after(server.call("a", input), 0),
          "ERROR The arguments of a call must be a JSON object."
        )
      }
      assert.strictEqual(yield* after(server.call("a", { b: [] }), 0), "done")
    }).pipe(Effect.scoped)
  )

  it.effect("is logged when it is up, down, and up again, with configured names that it does not have", () =>
    Effect.gen(function* () {
      const first = new Life("a")
      yield* start([first, new Life("a", "b")], { allow: ["a*", "c"], deny: ["d"], idempotent: ["a"] })
      assert.deepStrictEqual(news(), [
        'Warn tools.s.allow has "c", and s has no such tool.',
        'Warn tools.s.deny has "d", and s has no such tool.',
        "Debug The tool server s is up, with 1 tool."
      ])
      yield* first.dies("exit code 1")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(news(), ["Warn The tool server s is down: exit code 1. It is started again in 1s."])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(news().slice(-1), ["Info The tool server s is up, with 1 tool."])
    }).pipe(Effect.provide(said), Effect.scoped)
  )

  it.effect("that offers too much is warned about once, and again if the offer changes", () =>
    Effect.gen(function* () {
      const many = (count: number) => Array.from({ length: count }, (_, n) => offer(`t${n}`))
      const life = new Life()
      life.tools = many(Offers.MAX_TOOLS + 1)
      const server = yield* start([life])
      const lists = (tools: ReturnType<typeof many>) =>
        Effect.gen(function* () {
          life.tools = tools
          yield* life.changes
          yield* TestClock.adjust("1 second")
          return news().filter((line) => line.includes("more than a request can carry")).length
        })
      assert.strictEqual(news().filter((line) => line.startsWith("Warn ")).length, 1)
      assert.deepStrictEqual(
        names(server),
        many(Offers.MAX_TOOLS).map(({ name }) => name)
      )
      assert.strictEqual(yield* lists(many(Offers.MAX_TOOLS + 1)), 0)
      assert.strictEqual(yield* lists(many(Offers.MAX_TOOLS + 2)), 1)
      assert.strictEqual(yield* lists(many(1)), 0)
      assert.strictEqual(yield* lists(many(Offers.MAX_TOOLS + 2)), 1)
    }).pipe(Effect.provide(said), Effect.scoped)
  )
})
