/** Tests which gatekeeper an endpoint has, and how a waiting turn uses it. */
import { assert, describe, it } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import { type Failure, Ids } from "@holdfast/wire"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import { GateTable } from "../../../src/storage/tables/GateTable.ts"
import * as It from "../../It.ts"

const target = { provider: "a", model: "m" }
const endpoint = { baseUrl: "http://a", credential: "K" }
const turnId = Ids.TurnId.make("turn")
const shared = { turnId, mayShare: true }
const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true }

/** Gates of the provider `a`, and of no other. */
const gates = Effect.provide(
  Gates.Gates,
  Gates.layer((provider) => (provider === "a" ? endpoint : undefined))
).pipe(Effect.provide(Timer.layer))

describe("the gate of an endpoint", () => {
  it("is one per provider, address, credential and model, and its name contains none of them", () => {
    const key = Gates.keyOf({ target }, endpoint)
    const others = [
      Gates.keyOf({ target: { ...target, provider: "b" } }, endpoint),
      Gates.keyOf({ target: { ...target, model: "n" } }, endpoint),
      Gates.keyOf({ target }, { ...endpoint, baseUrl: "http://b" }),
      Gates.keyOf({ target, credential: "L" }, endpoint),
      Gates.keyOf({ target }, { baseUrl: "http://a", credential: undefined })
    ]
    assert.strictEqual(new Set([key, ...others]).size, 6)
    assert.strictEqual(Gates.keyOf({ target, credential: "K" }, endpoint), key)
    assert.match(key, /^[\w-]{43}$/)
  })

  it("belongs to an address, or to a package, and to the first credential; a simulated provider has none", () => {
    const credentials = [{ name: "K" }, { name: "L" }]
    const providers = new Map<string, unknown>([
      ["a", { name: "a", type: "openai", baseUrl: "http://a", credentials }],
      ["p", { name: "p", type: "ai-sdk", credentials: [] }],
      ["s", { name: "s", type: "simulated", baseUrl: "http://s", credentials }]
    ]) as Parameters<typeof Gates.endpointsOf>[0] // the parts that are read
    assert.deepStrictEqual(["a", "p", "s", "none"].map(Gates.endpointsOf(providers)), [
      endpoint,
      { baseUrl: "ai-sdk:p", credential: undefined },
      undefined,
      undefined
    ])
  })

  It.effect("is kept, except idle ones when there are a thousand", function* () {
    const { of, routes } = yield* gates
    const gateOf = (n: number) => of({ target: { provider: "a", model: `m${n}` } }) ?? assert.fail("it has no gate")
    const [idle, busy] = [gateOf(0), gateOf(1)]
    const ticket = busy.admit()
    for (let n = 2; n < 1_000; n++) gateOf(n)
    assert.strictEqual(gateOf(0), idle)
    gateOf(1_000)
    assert.strictEqual(routes().length, 2)
    assert.notStrictEqual(gateOf(0), idle)
    assert.strictEqual(gateOf(1), busy)
    ticket.giveBack()
    assert.isUndefined(of({ target: { provider: "b", model: "m" } }))
  })
})

It.effect(
  "the gates of some routes are read with what all runners know of them, in the order of the routes",
  function* () {
    const news = { triedAt: 1, answeredAt: 2, failedAt: 3, failure: overloaded, n: 4 }
    const exchange = (_: unknown, endpoints: ReadonlyArray<string>) =>
      Effect.succeed(endpoints.map((endpoint) => ({ endpoint, ...news })))
    const table = Layer.succeed(GateTable, { exchange, share: () => Effect.succeed([]) })
    const layer = Gates.layerShared((provider) => (provider === "a" ? endpoint : undefined))
    const { of, read } = yield* Effect.provide(Gates.Gates, Layer.provide(layer, [table, Timer.layer]))
    const elsewhere = { target: { provider: "b", model: "m" } }
    of({ target })?.admit()
    const known = { view: of({ target })?.view, news }
    assert.deepStrictEqual(yield* read([elsewhere, { target }]), [{ view: undefined, news: undefined }, known])
  }
)

It.effect("runners exchange news of a gate once, and ask of it each second while a turn waits there", function* () {
  const asked: Array<unknown> = []
  const exchange: GateTable["Service"]["exchange"] = (own, endpoints) =>
    Effect.sync(() => (asked.push([own.length, endpoints.length]), own.slice()))
  const table = Layer.succeed(GateTable, { exchange, share: () => Effect.succeed([]) })
  const layer = Layer.provide(
    Gates.layerShared(() => endpoint),
    [table, Timer.layer]
  )
  const gatekeeper = Context.get(yield* Layer.build(layer), Gates.Gates).of({ target }) ?? assert.fail("no gate")
  const afterSeconds = (n: number) => Effect.map(TestClock.adjust(n * 1_000), () => asked.splice(0))
  assert.deepStrictEqual(yield* afterSeconds(3), [])
  const call = gatekeeper.begin(undefined)
  call.failed(overloaded)
  assert.deepStrictEqual(yield* afterSeconds(3), [[1, 1]])
  const wait = { ...shared, gatekeeper, since: 0, waitMs: 60_000, notBefore: 50_000, isWanted: false }
  gatekeeper.enter({ ...wait, wake: () => {}, held: () => {} })
  assert.strictEqual((yield* afterSeconds(2)).join("; "), "0,1; 0,1")
})

describe("a turn that waits", () => {
  const wait = { failure: overloaded, isMoved: false, retryAt: 5_000, delayMs: 4_000, route: { target }, since: 1_000 }
  const hint = { retryAfterMs: 700, source: "retry-after" } as const

  It.effect("may be called early if its failure concerns the endpoint, but not before its hint", function* () {
    const known = yield* gates
    const gatekeeper = known.of({ target }) ?? assert.fail("it has no gate")
    const of = (over: Partial<Parameters<typeof Gates.waitOf>[2]>) => Gates.waitOf(known, turnId, { ...wait, ...over })
    const base = { ...shared, gatekeeper, since: 1_000, waitMs: 4_000, notBefore: 1_000, isWanted: false }
    assert.deepStrictEqual([of({}), of({ failure: { ...overloaded, hint } })], [base, { ...base, notBefore: 1_700 }])
    assert.deepStrictEqual(of({ isMoved: true }), { ...base, notBefore: Infinity, isWanted: true })
    const past = { odd: 1.5, restsUntil: 9_000 }
    assert.deepStrictEqual(of({ basis: { past } }), { ...base, past })
    for (const part of [{ odd: 1.5 }, { restsUntil: 9_000 }, { ...past, odd: "1" }])
      assert.deepStrictEqual(of({ basis: { past: part } }), base)
    const own = { ...overloaded, reason: "context-overflow" } as const
    assert.deepStrictEqual(of({ failure: own }), { ...base, notBefore: Infinity })
    assert.isUndefined(of({ route: { target: { provider: "b", model: "m" } } }))
  })

  It.effect("has the same wait by its record, on its own route or on its conversation's model", function* () {
    const known = yield* gates
    const gatekeeper = known.of({ target }) ?? assert.fail("it has no gate")
    const begun = { retryAt: 5_000, since: 1_000, isMoved: false, target: undefined }
    const decided = (over: object) =>
      ({ decision: { _tag: "Retry", attempt: 0, delayMs: 4_000, retryAt: 5_000, ...over } }) as const
    const of = (over: Partial<Parameters<typeof Gates.waitOfRecord>[2]>, model = "a/m") =>
      Gates.waitOfRecord(known, turnId, { ...begun, ...decided({}), ...over }, model)
    const base = { ...shared, gatekeeper, since: 1_000, waitMs: 4_000, notBefore: 1_000, isWanted: false }
    assert.deepStrictEqual([of({}), of(decided({ basis: { hintMs: 700 } }))], [base, { ...base, notBefore: 1_700 }])
    assert.deepStrictEqual(of({ isMoved: true }), { ...base, notBefore: Infinity, isWanted: true })
    assert.deepStrictEqual(of(decided({ basis: { ofEndpoint: false } })), { ...base, notBefore: Infinity })
    assert.deepStrictEqual(of(decided({ basis: { isLast: true } })), { ...base, mayShare: false })
    const past = { odd: 1.5, restsUntil: 9_000 }
    assert.deepStrictEqual(of(decided({ basis: { past } })), { ...base, past })
    assert.deepStrictEqual([of(decided({ route: { target } }), "b/m"), of({ target: "a/m" }, "b/m")], [base, base])
    assert.deepStrictEqual([of({ decision: undefined }), of({}, "b/m")], [undefined, undefined])
    assert.isUndefined(of({}, "none"))
  })
})
