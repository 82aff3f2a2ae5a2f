import { describe, expect, it } from "@effect/vitest"
import { Ids, type TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import * as Rejoined from "../../../src/cli/client/Rejoined.ts"
import * as TurnView from "../../../src/cli/terminal/TurnView.ts"
import { answer, delta, end, retry, stepDiscarded, stepStart } from "../GivenTurn.ts"

/** The text of a step, in pieces, and how many of its beginnings were void. */
interface Step {
  readonly pieces: ReadonlyArray<string>
  readonly discarded: ReadonlyArray<string> | undefined
}

const steps = fc.array(
  fc.record({
    pieces: fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
    discarded: fc.option(fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }), {
      nil: undefined
    })
  }),
  { minLength: 1, maxLength: 4 }
)

/** A turn as the service emits it, live: persisted events and those that are gone when their step has ended. */
const live = (script: ReadonlyArray<Step>): ReadonlyArray<TurnEvent.TurnEvent> => [
  { type: "turn-start", conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t"), startedAt: 0 },
  ...script.flatMap(({ discarded, pieces }, step) => [
    ...(discarded === undefined ? [] : [stepStart(step), ...discarded.map(delta), stepDiscarded("lost.")]),
    retry({ retryAt: 1_000 + step }),
    stepStart(step),
    ...pieces.map(delta),
    answer(pieces.join(""))
  ]),
  end("completed")
]

it("a file of a step comes once, however often a client reconnects", () => {
  const ids = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }
  const file = { type: "file", ...ids, file: { type: "file", mediaType: "image/png", data: "AAAA" } } as const
  const first = [stepStart(0), delta("Here"), file]
  let seen = Rejoined.nothing
  const got: Array<string> = []
  for (const events of [first, [...first, file, answer("Here")]]) {
    let connection = Rejoined.connected
    for (const event of events) {
      const [next, at, fresh] = Rejoined.take(seen, connection, event)
      seen = next
      connection = at
      got.push(...fresh.map(({ type }) => type))
    }
  }
  expect(got).toEqual(["step-start", "text-delta", "file", "file", "message"])
})

/** What a connection gets that is made behind the first `at` of these events and lasts up to `until`. */
const connection = (events: ReadonlyArray<TurnEvent.TurnEvent>, at: number, until: number) => {
  const before = events.slice(0, at)
  const isPersisted = ({ type }: TurnEvent.TurnEvent) =>
    !["text-delta", "step-start", "provider-retry", "reasoning-delta", "tools-missing"].includes(type)
  const begun = before.findLastIndex(
    ({ type }) => type === "message" || type === "step-discarded" || type === "turn-start"
  )
  // The service keeps the text so far as one delta, whatever pieces it came in.
  const live: Array<TurnEvent.TurnEvent> = []
  for (const event of before.slice(begun + 1).filter((event) => !isPersisted(event))) {
    const last = live.at(-1)
    if (event.type === "text-delta" && last?.type === "text-delta") {
      live[live.length - 1] = { ...last, delta: last.delta + event.delta }
    } else live.push(event)
  }
  return [...before.filter(isPersisted), ...live, ...events.slice(at, until)]
}

/** The text that a person has who reads all of it, void text included. */
const shown = (events: ReadonlyArray<TurnEvent.TurnEvent>): string => {
  let state = TurnView.initial
  let text = ""
  for (const event of events) {
    const [next, outputs] = TurnView.update(state, event)
    state = next
    for (const output of outputs) text += output._tag === "Answer" ? output.text : ""
  }
  return text
}

describe("a client that comes back", () => {
  it("rule X3: shows each word once, however often and wherever its connections break off", () => {
    fc.assert(
      fc.property(
        steps,
        fc.array(fc.nat({ max: 60 }), { maxLength: 5 }),
        fc.array(fc.nat({ max: 8 }), { maxLength: 5 }),
        (script, cuts, gaps) => {
          const events = live(script)
          let seen = Rejoined.nothing
          const got: Array<TurnEvent.TurnEvent> = []
          let from = 0
          const ends = [...cuts.map((cut) => Math.min(cut, events.length)).sort((a, b) => a - b), events.length]
          for (const [i, until] of ends.entries()) {
            let at = Rejoined.connected
            for (const event of connection(events, Math.min(from, events.length), Math.max(from, until))) {
              const [nextSeen, nextAt, fresh] = Rejoined.take(seen, at, event)
              seen = nextSeen
              at = nextAt
              got.push(...fresh)
            }
            from = Math.min(events.length, Math.max(from, until) + (gaps[i] ?? 0))
          }
          // Text that was void before the client saw it is not shown to it.
          const answers = script.map(({ pieces }) => pieces.join(""))
          const text = shown(got)
          for (const one of answers) expect(text).toContain(one)
          expect(text.length).toBeLessThanOrEqual(shown(events).length)
          const persisted = (all: ReadonlyArray<TurnEvent.TurnEvent>) =>
            all.filter(({ type }) => ["turn-start", "message", "step-discarded", "turn-end"].includes(type))
          expect(persisted(got)).toEqual(persisted(events))
        }
      ),
      { numRuns: 500 }
    )
  })

  it("rule D13: a wait that is announced again is one wait", () => {
    const [seen] = Rejoined.take(Rejoined.nothing, Rejoined.connected, retry())
    expect(Rejoined.take(seen, Rejoined.connected, retry())[2]).toEqual([])
    expect(Rejoined.take(seen, Rejoined.connected, retry({ retryAt: 1 }))[2]).toHaveLength(1)
  })
})
