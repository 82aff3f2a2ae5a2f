/** Tests a live response over a fake connection and over a socket: its writes, their times, and its end. */
import { assert, describe, it } from "@effect/vitest"
import { StorageError, Timer } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import { PushSource } from "@holdfast/kernel/testing"
import type { Sse } from "@holdfast/wire"
import { Channel, Clock, Context, type Duration, Effect, Exit, Fiber, Layer, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { EventEmitter } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { SubscriberTooSlow } from "../../../src/engine/conversation/Conversations.ts"
import * as Drain from "../../../src/base/system/Drain.ts"
import * as LiveResponse from "../../../src/http/body/LiveResponse.ts"
import * as It from "../../It.ts"

/** The part of Node's response that is used. */
class Connection extends EventEmitter {
  readonly done: Array<string> = []
  /** Whether the client reads: otherwise every write waits for `drain`, and the end never comes. */
  isReading = true
  destroyed = false
  writableEnded = false
  writableNeedDrain = false

  writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.done.push(`head ${status} ${headers["content-type"]} ${headers["x-accel-buffering"]}`)
  }
  flushHeaders(): void {
    this.done.push("flushed")
  }
  get writableLength(): number {
    return this.isReading ? 0 : 1
  }
  write(text: string, onWritten?: () => void): boolean {
    this.done.push(`write ${text}`)
    if (this.isReading) onWritten?.()
    return this.isReading
  }
  end(text: string): void {
    this.writableEnded = true
    this.done.push(`end ${text}`)
  }
  destroy(): void {
    this.destroyed = true
    this.done.push("cut")
  }
}

/** The head, which leaves with the first item. */
const HEAD = ["head 200 text/plain no"]
/** The same without an item that could take it along. */
const ALONE = [...HEAD, "flushed"]

/** The timer of a process. */
const ownTimer = Effect.map(Layer.build(Timer.layer), (context) => Context.get(context, Timer.Timer))

/** Sends items to such a connection; `written` returns the writes after the head since the last call. */
const sending = Effect.fnUntraced(function* <E>(
  items: Stream.Stream<string, E>,
  {
    endless = false,
    farewell = true,
    isReading = true,
    method = "GET",
    timer = undefined as Timer.Timer["Service"] | undefined
  } = {}
) {
  const connection = new Connection()
  connection.isReading = isReading
  const drain = yield* Drain.Drain
  const { at } = timer ?? (yield* ownTimer)
  // The platform's request has its response and the method; nothing else is used.
  const request = { method, response: connection } as unknown as HttpServerRequest.HttpServerRequest
  const fiber = yield* LiveResponse.send(
    request,
    { at, drain },
    {
      contentType: "text/plain",
      keepAlive: "alive",
      items,
      encode: (all) => all.join(""),
      isLast: (item) => item === "last",
      endless,
      ...(farewell ? { farewell: ({ code, message }: Sse.Reconnect) => `${code}: ${message}` } : {})
    }
  ).pipe(Effect.exit, Effect.forkChild({ startImmediately: true }))
  yield* TestClock.adjust(0)
  return { connection, drain, fiber, done: () => connection.done.splice(0) }
}, Effect.provide(Drain.layer))

const FIFTEEN = "15 seconds"

describe("a live response", () => {
  It.effect("LiveResponse.L1: writes the items of a chunk at once, and ends after the last one", function* () {
    const { done, fiber } = yield* sending(Stream.concat(Stream.make("a", "b"), Stream.make("c")))
    assert.deepStrictEqual(done(), [...HEAD, "write ab", "write c", "end "])
    assert.isTrue(Exit.isSuccess(yield* Fiber.join(fiber)))
  })

  It.effect("LiveResponse.L1: the last item leaves with the end; an endless response goes on behind it", function* () {
    const { done, fiber } = yield* sending(Stream.make("a", "last"))
    assert.deepStrictEqual(done(), [...HEAD, "end alast"])
    assert.isTrue(Exit.isSuccess(yield* Fiber.join(fiber)))
    const endless = yield* sending(Stream.concat(Stream.make("last"), Stream.never), { endless: true })
    assert.deepStrictEqual(endless.done(), [...HEAD, "write last"])
  })

  It.effect("LiveResponse.L1: nothing is pulled after the last item, and the response gets no farewell", function* () {
    let isReleased = false
    const items = Stream.concat(Stream.make("last"), Stream.never).pipe(
      Stream.ensuring(Effect.sync(() => (isReleased = true)))
    )
    const { connection, done, fiber } = yield* sending(items)
    assert.deepStrictEqual([Exit.isSuccess(yield* Fiber.join(fiber)), isReleased], [true, true])
    yield* TestClock.adjust("30 seconds")
    assert.deepStrictEqual([done(), connection.destroyed], [[...HEAD, "end last"], false])
    const unreleased = yield* sending(Stream.ensuring(Stream.make("last"), Effect.die("planted")))
    assert.deepStrictEqual(unreleased.done(), [...HEAD, "end last"])
  })

  It.effect("LiveResponse.L1: a client that closes before it has taken the last item ends the response", function* () {
    const items = Stream.concat(Stream.make("last"), Stream.never)
    const { connection, done, fiber } = yield* sending(items, { isReading: false })
    yield* TestClock.adjust("30 seconds")
    assert.deepStrictEqual(done(), [...HEAD, "end last"])
    connection.destroyed = true
    connection.emit("close")
    assert.isTrue(Exit.isSuccess(yield* Fiber.join(fiber)))
    assert.deepStrictEqual(done(), [])
  })

  It.effect("to HEAD has no body", function* () {
    const { done, fiber } = yield* sending(Stream.never, { method: "HEAD" })
    assert.deepStrictEqual(done(), [])
    const exit = yield* Fiber.join(fiber)
    assert(Exit.isSuccess(exit))
    assert.deepStrictEqual([exit.value.status, exit.value.headers["content-type"]], [200, "text/plain"])
  })

  It.effect("sends a keep-alive each 15 seconds of silence, and none to a client that does not read", function* () {
    const { connection, done } = yield* sending(Stream.never)
    assert.deepStrictEqual(done(), ALONE)
    yield* TestClock.adjust("14999 millis")
    assert.deepStrictEqual(done(), [])
    yield* TestClock.adjust("1 milli")
    assert.deepStrictEqual(done(), ["write alive"])
    yield* TestClock.adjust("30 seconds")
    assert.deepStrictEqual(done(), ["write alive", "write alive"])
    connection.writableNeedDrain = true
    yield* TestClock.adjust(FIFTEEN)
    assert.deepStrictEqual(done(), [])
    connection.writableNeedDrain = false
    connection.destroyed = true
    yield* TestClock.adjust(FIFTEEN)
    assert.deepStrictEqual(done(), [])
  })

  It.effect("all responses share one timer, which stops with the last of them", function* () {
    let asleep = 0
    const own = yield* Clock.Clock
    const sleeping = (duration: Duration.Duration): Effect.Effect<void> =>
      Effect.acquireUseRelease(
        Effect.sync(() => void asleep++),
        () => own.sleep(duration),
        () => Effect.sync(() => void asleep--)
      )
    const timer = yield* Effect.provideService(ownTimer, Clock.Clock, { ...own, sleep: sleeping })
    const open = sending(Stream.never, { timer })
    const first = yield* open
    const second = yield* open
    for (const { done } of [first, second]) done()
    assert.strictEqual(asleep, 1)
    yield* TestClock.adjust(FIFTEEN)
    assert.deepStrictEqual([first.done(), second.done()], [["write alive"], ["write alive"]])
    yield* Fiber.interrupt(first.fiber)
    yield* TestClock.adjust(FIFTEEN)
    assert.deepStrictEqual([first.done(), second.done()], [["cut"], ["write alive"]])
    yield* Fiber.interrupt(second.fiber)
    assert.strictEqual(asleep, 0)
  })

  It.effect("LiveResponse.L3: pulls nothing while the client does not take the written data", function* () {
    let pulled = 0
    const items = Stream.fromIterable(["a", "b", "c"]).pipe(
      Stream.rechunk(1),
      Stream.tap(() => Effect.sync(() => pulled++))
    )
    const { connection, done, fiber } = yield* sending(Stream.unwrap(Effect.as(Effect.sleep("1 second"), items)))
    connection.isReading = false
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(done(), [...ALONE, "write a"])
    yield* TestClock.adjust("59999 millis")
    assert.deepStrictEqual([pulled, done().filter((what) => what !== "write alive")], [1, []])
    connection.isReading = true
    connection.emit("drain")
    yield* TestClock.adjust("1 milli")
    assert.deepStrictEqual(done(), ["write b", "write c", "end "])
    assert.strictEqual(connection.listenerCount("drain"), 0)
    yield* Fiber.join(fiber)
  })

  It.effect(
    "rule X3: LiveResponse.L3, L6: drops a client that takes nothing for a minute, with a reason",
    function* () {
      const { connection, done, fiber } = yield* sending(
        Stream.unwrap(Effect.as(Effect.sleep("1 second"), Stream.make("a")))
      )
      connection.isReading = false
      yield* TestClock.adjust("1 second")
      connection.writableNeedDrain = true
      yield* TestClock.adjust("1 minute")
      const told = "write too-slow: The client has read nothing for 1m."
      assert.deepStrictEqual(done(), [...ALONE, "write a", told])
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual(done(), [])
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(done(), ["cut"])
      yield* Fiber.join(fiber)
    }
  )

  It.effect("is cut if the client does not take its end within a minute", function* () {
    const { connection, done, fiber } = yield* sending(Stream.unwrap(Effect.as(Effect.sleep("1 second"), Stream.empty)))
    connection.isReading = false
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(done(), [...ALONE, "end "])
    yield* TestClock.adjust("59999 millis")
    assert.deepStrictEqual(done(), [])
    yield* TestClock.adjust("1 milli")
    assert.deepStrictEqual(done(), ["cut"])
    yield* Fiber.join(fiber)
    assert.strictEqual(connection.listenerCount("close"), 0)
  })

  const reasons: ReadonlyArray<readonly [what: string, items: Stream.Stream<string, unknown>, said: string]> = [
    ["a watcher that was too slow", Stream.fail(new SubscriberTooSlow({ message: "Slow." })), "too-slow: Slow."],
    [
      "a turn that stopped",
      Stream.fail(new TurnStopped.TurnStopped({ message: "It stopped." })),
      "turn-stopped: It stopped."
    ],
    ["a disk that refused", Stream.fail(new StorageError({ message: "Full." })), "storage-unavailable: Full."],
    ["anything else", Stream.fail(new Error("planted")), "unexpected: Something went wrong; connect again."],
    ["what is no error", Stream.fail({ _tag: "StorageError" }), "unexpected: Something went wrong; connect again."],
    ["a bug", Stream.die(new TypeError("planted")), "unexpected: Something went wrong; connect again."]
  ]
  for (const [what, items, said] of reasons) {
    It.effect(`that broke off for ${what} is cut after the reason, or ended if it is endless`, function* () {
      const broken = Stream.concat(Stream.make("a"), items)
      const told = yield* sending(broken)
      assert.deepStrictEqual(told.done(), [...HEAD, "write a", `write ${said}`, "cut"])
      const endless = yield* sending(broken, { endless: true })
      assert.deepStrictEqual(endless.done(), [...HEAD, "write a", `end ${said}`])
      const silent = yield* sending(broken, { farewell: false })
      assert.deepStrictEqual(silent.done(), [...HEAD, "write a", "cut"])
    })
  }

  It.effect("that is endless is cut if the client does not take the reason within five seconds", function* () {
    const { connection, done, drain } = yield* sending(Stream.never, { endless: true })
    connection.isReading = false
    yield* drain.end
    yield* TestClock.adjust("4999 millis")
    assert.deepStrictEqual(done(), [...ALONE, "end shutting-down: Holdfast is shutting down; connect again soon."])
    yield* TestClock.adjust("1 milli")
    assert.deepStrictEqual(done(), ["cut"])
  })

  It.effect("LiveResponse.L5: stops pulling when the client disconnects, and writes nothing more", function* () {
    let isReleased = false
    const items = Stream.unwrap(Effect.as(Effect.sleep("1 second"), Stream.make("a"))).pipe(
      Stream.ensuring(Effect.sync(() => (isReleased = true)))
    )
    const gone = yield* sending(items)
    gone.connection.destroyed = true
    yield* TestClock.adjust("1 second")
    assert.notInclude(gone.done().join(), "write")
    assert.deepStrictEqual([isReleased, Exit.isFailure(yield* Fiber.join(gone.fiber))], [true, true])
    const interrupted = yield* sending(Stream.never)
    yield* Fiber.interrupt(interrupted.fiber)
    assert.deepStrictEqual(interrupted.done(), [...ALONE, "cut"])
  })
})

describe("a live response over a socket", () => {
  const broken = Stream.fail(new Error("planted"))
  for (const [what, items, text] of [
    ["no item", broken, ""],
    ["an item", Stream.concat(Stream.make("a"), broken), "a"]
  ] as const) {
    it.live(`that breaks off in the tick of its head, after ${what}, is cut after what was written`, () =>
      Effect.gen(function* () {
        const drain = yield* Drain.Drain
        const { at } = yield* Timer.Timer
        const server = createServer((_request, response) => {
          const request = { method: "POST", response } as unknown as HttpServerRequest.HttpServerRequest
          const format = { contentType: "text/plain", keepAlive: "alive", endless: false }
          const encode = (all: ReadonlyArray<string>) => all.join("")
          Effect.runFork(LiveResponse.send(request, { at, drain }, { ...format, items, encode }))
        })
        yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
        yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
        const received = yield* Effect.callback<string>((resume) => {
          let received = ""
          const head = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"
          const socket = connect((server.address() as AddressInfo).port, "127.0.0.1", () => socket.write(head))
          socket.setEncoding("latin1").on("data", (part: string) => (received += part))
          socket.on("error", () => {}).on("close", () => resume(Effect.succeed(received)))
        })
        assert.match(received, /^HTTP\/1\.1 200 /)
        assert.strictEqual(received.slice(received.indexOf("\r\n\r\n") + 4), text === "" ? "" : `1\r\n${text}\r\n`)
      }).pipe(Effect.provide([Drain.layer, Timer.layer]))
    )
  }
})

describe("a live response of items that are pushed", () => {
  const pushing = Effect.fnUntraced(function* () {
    const source = PushSource.make<readonly [string, ...ReadonlyArray<string>], TurnStopped.TurnStopped>()
    const stream = Stream.fromChannel(Channel.fromTransform(() => Effect.succeed(source.pull)))
    return { ...source, ...(yield* sending(stream)), give: (item: string) => source.give([item]) }
  })

  It.effect("LiveResponse.L1: writes them as given, with signs of life in between, and ends with them", function* () {
    const { calls, done, end, fiber, give } = yield* pushing()
    for (const item of ["a", "b", "c"]) give(item)
    assert.deepStrictEqual([done(), calls.pushes], [[...ALONE, "write a", "write b", "write c"], 2])
    yield* TestClock.adjust("30 seconds")
    assert.deepStrictEqual(done(), ["write alive"])
    end()
    assert.isTrue(Exit.isSuccess(yield* Fiber.join(fiber)))
    assert.deepStrictEqual(done(), ["end "])
  })

  It.effect("LiveResponse.L1: the push ends with the last item", function* () {
    const { done, fiber, give, isPushing } = yield* pushing()
    for (const item of ["a", "b", "last"]) give(item)
    assert.deepStrictEqual([isPushing(), Exit.isSuccess(yield* Fiber.join(fiber))], [false, true])
    assert.deepStrictEqual(done(), [...ALONE, "write a", "write b", "end last"])
  })

  It.effect("LiveResponse.L3: takes no more while the client does not read, and goes on when it does", function* () {
    const { connection, done, give, isPushing } = yield* pushing()
    for (const item of ["a", "b"]) give(item)
    connection.isReading = false
    give("c")
    assert.isFalse(isPushing())
    give("d")
    assert.deepStrictEqual(done(), [...ALONE, "write a", "write b", "write c"])
    connection.isReading = true
    connection.emit("drain")
    assert.deepStrictEqual([done(), isPushing()], [["write d"], true])
  })

  It.effect("LiveResponse.L5: a client that goes away ends the push, and a turn that stops cuts it", function* () {
    const gone = yield* pushing()
    for (const item of ["a", "b"]) gone.give(item)
    gone.connection.destroyed = true
    gone.give("c")
    assert.deepStrictEqual([gone.done(), gone.isPushing()], [[...ALONE, "write a", "write b", "cut"], false])
    const stopped = yield* pushing()
    for (const item of ["a", "b"]) stopped.give(item)
    stopped.end(Effect.fail(new TurnStopped.TurnStopped({ message: "It stopped." })))
    yield* Fiber.join(stopped.fiber)
    assert.deepStrictEqual(stopped.done().slice(-2), ["write turn-stopped: It stopped.", "cut"])
  })
})
