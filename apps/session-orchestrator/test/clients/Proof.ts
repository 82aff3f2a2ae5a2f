/**
 * The proof of one transport: clients whose connections are cut anywhere have what is persisted.
 *
 * `HOLDFAST_MODEL_RUNS=10000` is the nightly form: so many cuts over each transport. `HOLDFAST_SEED` begins with a given seed.
 */
import { assert, it } from "@effect/vitest"
import { ConversationView } from "@holdfast/client"
import { TurnEvent } from "@holdfast/wire"
import { Effect, Logger, type Scope } from "effect"
import * as fc from "fast-check"
import { isDeepStrictEqual } from "node:util"
import type { Cut } from "./CuttingProxy.ts"
import type { Assembled, Driver, Persisted } from "./Drivers.ts"

/** What turns meet: answers, outages, answers that break off and are void, and tools. */
const SCRIPTS = `ok+instant 529x2+instant cut-after-3+instant 529,ends-after-4,cut-after-2+instant
  reset,502+reasoning+instant delay-1ms+tokens-12 cut-after-5,429+delay-1ms+tokens-9 auth+instant
  error-in-stream-after-2+reasoning+instant`.split(/\s+/)

const bytes = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 5, arbitrary: fc.integer({ min: 200, max: 4_000 }) }
)

const cut: fc.Arbitrary<Cut> = fc.record({
  down: bytes,
  up: fc.oneof({ weight: 1, arbitrary: bytes }, { weight: 3, arbitrary: fc.constant(Infinity) }),
  how: fc.constantFrom("reset" as const, "end" as const)
})

/** One conversation: its turns, and the cuts of the connections of its client. */
const scenario = (turns: number, cuts: number) =>
  fc.record({
    turns: fc.array(fc.constantFrom(...SCRIPTS), { minLength: 1, maxLength: turns }),
    cuts: fc.array(cut, { minLength: 1, maxLength: cuts })
  })

/** Cuts over each transport in the usual run. */
export const USUAL = 60
export const CUTS = Number(process.env["HOLDFAST_MODEL_RUNS"] ?? USUAL)
const SEED = Number(process.env["HOLDFAST_SEED"] ?? Date.now() % 2 ** 31)

/** What is wrong with what a client has assembled; empty: nothing. */
const faultsOf = ({ events, turns }: Assembled, persisted: Persisted): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const same = (what: string, found: unknown, expected: unknown) => {
    if (isDeepStrictEqual(found, expected)) return
    faults.push(`${what}: found ${JSON.stringify(found)}, persisted is ${JSON.stringify(expected)}`)
  }
  same("the events", events.filter(TurnEvent.isPersisted), persisted.events)
  for (const [turnId, own] of turns) {
    const expected = persisted.events.filter((event) => event.turnId === turnId)
    same(`the events of ${turnId}`, own.filter(TurnEvent.isPersisted), expected)
  }
  const view = ConversationView.applyAll(ConversationView.empty, events)
  same("the messages", ConversationView.messagesOf(view), persisted.messages)
  same("what is in progress", [view.progress, view.retry, view.status], [undefined, undefined, "idle"])
  return [...faults, ...textFaults(events)]
}

/** The text that was shown before a message is a beginning of it, whatever was cut. */
const textFaults = (events: ReadonlyArray<TurnEvent.TurnEvent>): ReadonlyArray<string> => {
  let view = ConversationView.empty
  return events.flatMap((event) => {
    const { progress } = view
    view = ConversationView.apply(view, event)
    if (event.type !== "message" || event.message.role !== "assistant") return []
    const of = (parts: ReadonlyArray<{ readonly type: string; readonly text?: string }> = []) =>
      parts.map(({ text, type }) => (type === "text" ? text : "")).join("")
    const [shown, text] = [of(progress?.parts), of(event.message.content)]
    return text.startsWith(shown) ? [] : [`it showed ${JSON.stringify(shown)} of ${JSON.stringify(text)}`]
  })
}

/** How much is run. */
interface Extent {
  /** Cuts in all; the last conversation makes some more. */
  readonly cuts: number
  /** Conversations at the same time. */
  readonly atOnce?: number
  /** Turns and cuts of a conversation, at most. */
  readonly turns?: number
  readonly cutsEach?: number
}

/** The test of one transport. */
export const proof = (
  name: string,
  start: Effect.Effect<Driver, unknown, Scope.Scope>,
  { atOnce = 8, cuts, cutsEach = 12, turns = 3 }: Extent
) =>
  it.live(
    name,
    () =>
      Effect.gen(function* () {
        const driver = yield* start
        const made = { cuts: 0 }
        for (let batch = 0; made.cuts < cuts; batch++) {
          const scenarios = fc.sample(scenario(turns, cutsEach), { seed: SEED + batch, numRuns: atOnce })
          const results = yield* Effect.forEach(scenarios, driver.run, { concurrency: atOnce })
          results.forEach(({ assembled, cuts, persisted }, number) => {
            made.cuts += cuts
            const faults = faultsOf(assembled, persisted)
            const found = `HOLDFAST_SEED=${SEED + batch}, ${number}: ${JSON.stringify(scenarios[number])}`
            assert.deepStrictEqual(faults, [], found)
          })
        }
        if (CUTS > USUAL) process.stderr.write(`${name}: ${made.cuts} cuts\n`)
      }).pipe(Effect.provide(Logger.layer([]))),
    CUTS > USUAL ? CUTS * 200 : undefined
  )
