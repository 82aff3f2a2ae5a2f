/** Tests deliveries from an outbox under a test clock: retries, order, deaths, limits; and the report of the day. */
import { assert, describe } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import type { Failure } from "@holdfast/wire"
import { Clock, Deferred, type Duration, Effect, Fiber, Option, Queue, Redacted, Schedule, Stream } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as Deliveries from "../../../src/ops/delivery/Deliveries.ts"
import * as ServiceDeliveries from "../../../src/ops/delivery/ServiceDeliveries.ts"
import * as Posting from "../../../src/ops/delivery/Posting.ts"
import { type Claimed, type NewMessage, Outbox } from "../../../src/storage/Outbox.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import * as Night from "../../insight/inspection/period/Night.ts"
import { PeriodTally } from "../../../src/insight/inspection/period/PeriodTally.ts"
import * as It from "../../It.ts"

const message = (id: string, lane = id) => ({ id, lane, receiver: "webhook", payload: "{}", dueAt: 0 })
const busy: Failure.Failure = { reason: "overloaded", message: "busy", retryable: true, status: 503 }

/** A receiver that answers its messages in turn, the last answer repeated; and when it got which message. */
const receiver = (...answers: ReadonlyArray<Failure.Failure | "taken" | "hangs">) => {
  const taken: Array<readonly [id: string, at: number]> = []
  const called = Deferred.makeUnsafe<void>()
  const send: Deliveries.SendMessage = ({ id }) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      Deferred.doneUnsafe(called, Effect.void)
      const answer = answers[Math.min(taken.push([id, at]), answers.length) - 1] ?? "taken"
      return answer === "taken" ? Effect.void : answer === "hangs" ? Effect.never : Effect.fail(answer)
    })
  const kind: Deliveries.MessageKind = { patience: Deliveries.OF_TURN_ENDS, send }
  return { taken, kind, isCalled: Deferred.await(called) }
}

/** Lets time pass in steps, with a look into the outbox after each. */
const pass = Effect.fnUntraced(function* (kind: Deliveries.MessageKind, steps: number, step: Duration.Input) {
  const outbox = yield* Outbox
  const { idle, look } = yield* Deliveries.make({ outbox, kindOf: () => kind, redact: (text) => text })
  for (let i = 0; i < steps; i++) {
    yield* look
    yield* idle
    yield* TestClock.adjust(step)
  }
}, Effect.scoped)

const MINUTE = 60_000

const check = It.within(MemoryStore.layer)

describe("deliveries", () => {
  check("rule X15: a message is tried again by schedule, and the next one of its lane waits for it", function* () {
    const outbox = yield* Outbox
    yield* outbox.add([message("a1", "a"), message("a2", "a"), message("b")])
    const { kind, taken } = receiver(busy, "taken", busy, "taken")
    yield* pass(kind, 60, "1 second")
    assert.strictEqual(taken.map(([id]) => id).join(), "a1,b,a1,a1,a2")
    // 5 s after the first attempt, 30 s after the second.
    const at = taken.filter(([id]) => id === "a1").map(([, at]) => at)
    assert.deepStrictEqual(at, [0, 5_000, 35_000])
  })

  check("rule X12, X15: a message whose process dies while it is sent is sent again, under the same id", function* () {
    const outbox = yield* Outbox
    yield* outbox.add([message("a")])
    const dead = receiver("hangs")
    const { look } = yield* Deliveries.make({ outbox, kindOf: () => dead.kind, redact: String })
    assert.strictEqual(yield* look, 1)
    const { kind, taken } = receiver("taken")
    yield* pass(kind, 1, 59_999)
    assert.deepStrictEqual(taken, [])
    yield* pass(kind, 2, "1 millis")
    assert.deepStrictEqual([dead.taken, taken], [[["a", 0]], [["a", 60_000]]])
  })

  check("Deliveries.D5: a message under way when the service stops is sent by the next one at once", function* () {
    const outbox = yield* Outbox
    yield* outbox.add([message("a1", "a"), message("a2", "a")])
    const stopped = receiver("hangs")
    const first = yield* Effect.forkChild(pass(stopped.kind, 1, "1 second"))
    yield* stopped.isCalled
    yield* Fiber.interrupt(first)
    const { kind, taken } = receiver("taken")
    yield* pass(kind, 2, 0)
    assert.strictEqual(taken.map(([id]) => id).join(), "a1,a2")
  })

  check("Deliveries.D6: a bug in Holdfast delays a message like a failed attempt, and holds up no other", function* () {
    const outbox = yield* Outbox
    yield* outbox.add([message("a"), message("b")])
    const { kind, taken } = receiver("taken")
    let bugs = 2
    const send: Deliveries.SendMessage = (claimed) => {
      if (claimed.id === "a" && bugs-- > 0) {
        if (bugs === 1) throw new TypeError("undefined is not a function")
        return Effect.die("a defect")
      }
      return kind.send(claimed)
    }
    const { layer, lines } = It.logged()
    yield* Effect.provide(pass({ send, patience: Deliveries.OF_NOTICES }, 60, "1 second"), layer)
    // 1 s after the first attempt, 5 s after the second.
    assert.deepStrictEqual(taken.flat(), ["b", 0, "a", 6_000])
    assert.deepStrictEqual(lines, [
      "Warn Notice a was not delivered, and is tried again in 1s: Holdfast failed: TypeError: undefined is not a function",
      "Warn Notice a was not delivered, and is tried again in 5s: Holdfast failed: a defect"
    ])
  })

  check("rule X15: a receiver that hangs, of many messages, holds up no other receiver", function* () {
    const outbox = yield* Outbox
    const of = (receiver: string, count: number) =>
      Array.from({ length: count }, (_, n) => ({ ...message(`${receiver}${n}`), receiver }))
    const others = Array.from({ length: 40 }, (_, n) => of(`other${n}-`, 1)).flat()
    yield* outbox.add([...of("slow", 100), ...of("fast", 3), ...others])
    const [slow, fast] = [receiver("hangs"), receiver("taken")]
    const kindOf = (message: Claimed) => (message.receiver === "fast" ? fast.kind : slow.kind)
    const { look } = yield* Deliveries.make({ outbox, kindOf, redact: (text) => text })
    while ((yield* look) > 0);
    assert.strictEqual(fast.taken.map(([id]) => id).join(), "fast0,fast1,fast2")
    assert.deepStrictEqual([slow.taken.length, slow.taken.filter(([id]) => id.startsWith("slow")).length], [32, 4])
  })

  check("Deliveries.D2: a message that has ended makes room at once", function* () {
    const outbox = yield* Outbox
    yield* outbox.add(Array.from({ length: 20 }, (_, n) => message(`m${n}`, n % 2 === 0 ? "even" : `odd${n}`)))
    const all = yield* Deferred.make<void>()
    let left = 20
    const send = () => Effect.sync(() => void (--left === 0 && Deferred.doneUnsafe(all, Effect.void)))
    const kind: Deliveries.MessageKind = { patience: Deliveries.OF_TURN_ENDS, send }
    // The clock stands still: no interval passes.
    let looks = 0
    const counting = { ...outbox, release: (...times: [number, number]) => (looks++, outbox.release(...times)) }
    yield* Effect.forkChild(Deliveries.run({ outbox: counting, kindOf: () => kind, redact: String }))
    yield* Deferred.await(all)
    // Without a message it looks once a second.
    looks = 0
    yield* Effect.replicateEffect(TestClock.adjust("1 second"), 10)
    assert.approximately(looks, 10, 1)
  })

  check(
    "Deliveries.D2: 32 messages are under way at once at most, and two that ended are one reason to look",
    function* () {
      const outbox = yield* Outbox
      const of = (count: number, name: string) =>
        Array.from({ length: count }, (_, n) => ({ ...message(`${name}${n}`), receiver: `${name}${n}` }))
      const [slow, fast] = [receiver("hangs"), receiver("taken")]
      const kindOf = ({ id }: Claimed) => (id.startsWith("fast") ? fast.kind : slow.kind)
      const { change, look } = yield* Deliveries.make({ outbox, kindOf, redact: String })
      const looks = Effect.gen(function* () {
        while ((yield* look) > 0);
      })
      yield* outbox.add(of(2, "fast"))
      yield* looks
      yield* change
      const again = yield* Effect.forkChild(Effect.timeoutOption(change, Deliveries.INTERVAL))
      yield* TestClock.adjust(Deliveries.INTERVAL)
      assert.isTrue(Option.isNone(yield* Fiber.join(again)))
      yield* outbox.add(of(31, "slow"))
      yield* looks
      assert.deepStrictEqual([fast.taken.length, slow.taken.length], [2, 31])
      yield* outbox.add(of(2, "later"))
      assert.deepStrictEqual([yield* look, yield* look, slow.taken.length], [1, 0, 32])
    }
  )

  check("Deliveries.D5: a service that stops right after a look gives its messages back too", function* () {
    const outbox = yield* Outbox
    yield* outbox.add([message("a")])
    const { kind, taken } = receiver("hangs", "taken")
    yield* Effect.scoped(
      Effect.flatMap(Deliveries.make({ outbox, kindOf: () => kind, redact: String }), ({ look }) => look)
    )
    yield* pass(kind, 1, 0)
    assert.deepStrictEqual(taken.flat(), ["a", 0, "a", 0])
  })

  check("a look releases what ended since the last one, forgets once an hour, and warns once of a disk", function* () {
    const outbox = yield* Outbox
    const done: Array<string> = []
    let isBroken = true
    const spied: typeof outbox = {
      ...outbox,
      release: (since, now) => {
        done.push(`${since / 1_000}`)
        return isBroken ? Effect.fail(new StorageError({ message: "no disk" })) : outbox.release(since, now)
      },
      forget: (now) => (done.push("forgets"), outbox.forget(now))
    }
    const { layer, lines } = It.logged()
    const { look } = yield* Deliveries.make({ outbox: spied, kindOf: () => undefined, redact: String })
    yield* Effect.gen(function* () {
      for (const broken of [true, true, false, false, true, false]) {
        isBroken = broken
        assert.strictEqual(yield* look, 0)
        yield* TestClock.adjust("20 minutes")
      }
    }).pipe(Effect.provide(layer))
    assert.deepStrictEqual(lines, Array(2).fill("Warn Messages are not delivered for now. no disk"))
    assert.deepStrictEqual(done, ["0", "0", "0", "2340", "forgets", "3540", "3540"])
  })

  check("a message is given up when its receiver is gone, or after three days; the next one follows", function* () {
    const outbox = yield* Outbox
    yield* outbox.add([message("a1", "a"), message("a2", "a")])
    const { kind, taken } = receiver(
      { ...busy, status: 410, retryable: false },
      { ...busy, retryable: false, status: 404 }
    )
    yield* pass(kind, 100, "1 hour")
    assert.deepStrictEqual([taken.length, taken[0]?.[0], taken[1]?.[0]], [1 + 12, "a1", "a2"])
  })
})

describe("the report of the day", () => {
  const at = new Date(2031, 3, 2, 7, 0).getTime()
  const report = Effect.fnUntraced(function* (since: number, until: number) {
    yield* Effect.void
    return new PeriodTally({ ...Night.period, since, until }).report()
  })

  check("rule X12: is sent once at its time, by several runners, over restarts, a missed one late", function* () {
    const outbox = yield* Outbox
    yield* TestClock.setTime(at - 7 * 60 * MINUTE)
    const made = yield* Queue.unbounded<void>()
    const options = {
      time: "07:00",
      receivers: ["webhook", "command"],
      report,
      add: (messages: ReadonlyArray<NewMessage>) =>
        Effect.andThen(
          outbox.add(messages),
          Effect.sync(() => void Queue.offerUnsafe(made, undefined))
        ),
      sleepUntil: (end: number) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(Math.max(0, end - now)))
    }
    const { kind, taken } = receiver("taken")
    const run = Effect.forkChild(ServiceDeliveries.dailyReports(options), { startImmediately: true })
    const first = yield* run
    const second = yield* run
    yield* pass(kind, 1, "8 hours")
    assert.deepStrictEqual(taken, [])
    yield* Queue.takeN(made, 2)
    yield* pass(kind, 3, "1 minute")
    const ids = ["webhook", "command"].map((to) => `report/${new Date(at).toISOString()}/${to}`)
    const sent = taken.map(([id]) => id)
    assert.sameMembers(sent, ids)
    yield* Effect.forEach([first, second], Fiber.interrupt)
    // A restart makes it again, and the outbox has it.
    const third = yield* run
    yield* Queue.take(made)
    yield* pass(kind, 3, "1 minute")
    assert.strictEqual(taken.length, 2)
    yield* Fiber.interrupt(third)
    // Down at seven of the next day, up six hours later.
    yield* TestClock.setTime(at + 30 * 60 * MINUTE)
    yield* run
    yield* Queue.take(made)
    yield* pass(kind, 3, "1 minute")
    assert.strictEqual(taken.length, 4)
  })
})

describe("hostile receivers", () => {
  let pulled = 0
  const endless = HttpClient.make((request) =>
    Effect.succeed(
      HttpClientResponse.fromWeb(
        request,
        new Response(
          Stream.toReadableStream(
            Stream.repeat(
              Stream.sync(() => (pulled++, new Uint8Array(1_000))),
              Schedule.forever
            )
          ),
          { status: 500 }
        )
      )
    )
  )

  It.effect("one that floods is read up to a limit", function* () {
    pulled = 0
    const failure = yield* Effect.flip(Posting.viaClient(endless)({ url: "http://a.test/", headers: {}, body: "{}" }))
    assert.strictEqual(failure.status, 500)
    assert.approximately(pulled, 66, 5)
  })

  It.live("of a request: is never followed elsewhere, read to a limit, reached at allowed addresses", function* () {
    const paths: Array<string> = []
    const server = http.createServer((request, response) => {
      paths.push(request.url ?? "")
      if (request.url === "/moved") return response.writeHead(302, { location: "/secret" }).end()
      if (request.url !== "/flood") return response.writeHead(200).end()
      const flood = (): void => void (response.write(Buffer.alloc(65_536)) && setImmediate(flood))
      response.on("drain", flood)
      return flood()
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => (server.closeAllConnections(), server.close()))
    )
    const { port } = server.address() as AddressInfo // a server on TCP has one
    const addressesOf: Posting.Lookup = async () => [{ address: "127.0.0.1", family: 4 }]
    const to = (path: string, host = "hooks.test") => ({
      url: `http://${host}:${port}${path}`,
      headers: {},
      body: "{}"
    })
    const allowed = Posting.toPublic({ addressesOf, isAllowed: () => true })
    yield* allowed(to("/taken"))
    assert.strictEqual((yield* Effect.flip(allowed(to("/moved")))).status, 302)
    yield* allowed(to("/flood"))
    assert.deepStrictEqual(paths, ["/taken", "/moved", "/flood"])
    // The name was public when it was checked, and now leads to this machine.
    for (const post of [to("/rebound"), to("/direct", "127.0.0.1")]) {
      const failure = yield* Effect.flip(Posting.toPublic({ addressesOf })(post))
      assert.deepInclude(failure, { reason: "refused", retryable: false })
      assert.notInclude(failure.message, "hooks.test")
    }
    // A name that is not resolved has no addresses at all.
    const unknown: Posting.Lookup = () => Promise.reject(Object.assign(new Error("not found"), { code: "ENOTFOUND" }))
    const unresolved = yield* Effect.flip(Posting.toPublic({ addressesOf: unknown })(to("/unknown")))
    assert.deepInclude(unresolved, { reason: "network", retryable: true })
    assert.strictEqual(paths.length, 3)
  })

  It.effect("what is sent has no secret, whatever its template made of it", function* () {
    const bodies: Array<string> = []
    const client = HttpClient.make((request) =>
      Effect.sync(() => {
        if (request.body._tag === "Uint8Array") bodies.push(new TextDecoder().decode(request.body.body))
        return HttpClientResponse.fromWeb(request, new Response("", { status: 200 }))
      })
    )
    const redact = (text: string) => text.replaceAll("planted-key", "[redacted]")
    const send = Posting.webhook({ url: Redacted.make("http://a.test/"), headers: {} }, client, redact)
    yield* send({ id: "1", headers: {}, text: "The planted-key leaked." })
    assert.deepStrictEqual(bodies, ["The [redacted] leaked."])
  })
})
