/** Generates turns for laws of the machine. */
import { it } from "@effect/vitest"
import { PureTurn } from "@holdfast/kernel/testing"
import { defined, Ids, type Message, type TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import type * as Machine from "../src/turn/Machine.ts"

const earlier = (target: string): ReadonlyArray<Message.Message> => {
  const turnId = Ids.TurnId.make("t0")
  const common = { turnId, createdAt: 0 }
  const content = [{ type: "text" as const, text: "Earlier." }]
  return [
    { role: "user", id: Ids.messageIdOf(turnId, 0), ...common, content },
    { role: "user", id: Ids.messageIdOf(turnId, 1), ...common, content, synthetic: true },
    {
      role: "assistant",
      id: Ids.messageIdOf(turnId, 2),
      ...common,
      content,
      target: { provider: target, model: "big" }
    }
  ]
}

/** The facts of a turn. */
const facts = fc
  .record({
    isRetry: fc.boolean(),
    history: fc.constantFrom([], earlier("test"), earlier("other")),
    hasReport: fc.boolean(),
    maxTurns: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    most: fc.option(fc.integer({ min: 2, max: 9 }), { nil: undefined }),
    maxFailedToolSteps: fc.constantFrom(0, 1, 2)
  })
  .map(({ hasReport, history, isRetry, maxFailedToolSteps, maxTurns, most }): Machine.TurnFacts => ({
    conversationId: PureTurn.conversationId,
    turnId: PureTurn.turnId,
    target: { provider: "test", model: "model" },
    history,
    prompt: isRetry ? undefined : "Hello",
    startedAt: 0,
    maxRetries: 5,
    limits: {
      maxFailedToolSteps,
      ...defined({ maxTurns }),
      ...(most === undefined ? undefined : { exceedsContext: ({ messages }) => messages.length > most })
    },
    ...(hasReport
      ? { report: { tool: { name: PureTurn.REPORT, inputSchema: {} }, validate: () => undefined } }
      : undefined)
  }))

const offers = fc
  .record({
    hasRouter: fc.boolean(),
    hasCompactor: fc.boolean(),
    midStream: fc.constantFrom<TurnEvent.MidStream>("fail", "discard", "unseen")
  })
  .map(({ midStream, ...ports }) => ({
    tools: PureTurn.TOOLS,
    hasStrategy: true,
    ...ports,
    midStream: () => midStream
  }))

const choices = fc.array(fc.nat(10_000), { maxLength: 120, size: "max" })

export const turns = fc.record({ facts, offers, choices, isSteady: fc.boolean() })
export const steady = fc.record({ facts, offers, choices, isSteady: fc.constant(true) })

/** Checks a law for turns that are played to their seal. */
export const law = (
  title: string,
  arbitrary: fc.Arbitrary<PureTurn.Options>,
  holds: (turn: PureTurn.PureRun, options: PureTurn.Options) => void,
  numRuns = 300
): void =>
  it(title, () =>
    fc.assert(
      fc.property(arbitrary, (options) => holds(PureTurn.play(options), options)),
      { numRuns }
    )
  )

export const eventsOf = (emissions: ReadonlyArray<Machine.Emission>): ReadonlyArray<TurnEvent.TurnEvent> =>
  emissions.flatMap((each): ReadonlyArray<TurnEvent.TurnEvent> =>
    each._tag === "Persist" ? each.events : [each.event]
  )

export const of = <Type extends TurnEvent.TurnEvent["type"]>({ emissions }: PureTurn.PureRun, type: Type) =>
  eventsOf(emissions).filter((event): event is Extract<TurnEvent.TurnEvent, { type: Type }> => event.type === type)
