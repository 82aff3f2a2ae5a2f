import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import * as TurnEvent from "../src/TurnEvent.ts"

const typeOf = (member: { readonly fields: { readonly type: { readonly schema: { readonly literal: string } } } }) =>
  member.fields.type.schema.literal

/**
 * The types that may be on a user's disk. A line may be added; no line may ever be removed or changed. A shape that must change
 * gets a version of its own (CONTRACTS.md).
 */
const PERSISTED = [
  "turn-start",
  "tool-call",
  "tool-result",
  "usage",
  "message",
  "retry-end",
  "step-discarded",
  "retry-fallback-applied",
  "retry-fallback-succeeded",
  "model-change",
  "synthetic-retry",
  "compaction",
  "final-turn",
  "error",
  "turn-end"
]

const TRANSIENT = ["step-start", "text-delta", "reasoning-delta", "file", "provider-retry", "tools-missing"]

describe("the inventory", () => {
  it("has every persisted type that was ever written", () => {
    expect(TurnEvent.PersistedEvent.members.map(typeOf)).toEqual(PERSISTED)
  })

  it("rule D6: has as transient types provider-retry, step-start, tools-missing, files and the deltas", () => {
    expect(TurnEvent.TransientEvent.members.map(typeOf)).toEqual(TRANSIENT)
  })

  it("knows which are persisted", () => {
    const types = TurnEvent.TurnEvent.members.map(typeOf)
    expect(types.filter((type) => TurnEvent.isPersisted({ type } as TurnEvent.TurnEvent))).toEqual(PERSISTED)
  })

  it("has no type twice", () => {
    const types = TurnEvent.TurnEvent.members.map(typeOf)
    expect(new Set(types).size).toBe(types.length)
  })
})

it.prop("an event is persisted or transient, by its type alone", { event: TurnEvent.TurnEvent }, ({ event }) => {
  expect(TurnEvent.isPersisted(event)).toBe(PERSISTED.includes(event.type))
  expect(Schema.is(TurnEvent.PersistedEvent)(event)).toBe(TurnEvent.isPersisted(event))
  expect(Schema.is(TurnEvent.TransientEvent)(event)).toBe(!TurnEvent.isPersisted(event))
})
