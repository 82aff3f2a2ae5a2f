/**
 * A record of a turn's journal, as what it says: the one reader of the names and values that the kernel writes.
 *
 * Names are the kernel's (`Retries`, `Waiting`, `ToolCalls`): `step/S/attempt/N` and its mark `…/content`, `step/S/decision/N`,
 * `step/S/sleep/N` and, for each further part of a wait that somebody changed, `step/S/sleep/N/P`, `step/S/tool/I` and its
 * mark `…/begun`; `step/S/compaction/N`, whose N counts on from the attempt that was too long (`Compaction`); and, once a step,
 * `step/S/route` (`Routing`) and `step/S/final` (`FinalStep`).
 *
 * R1. A record of another kind, or one that cannot be read, is nothing: an older Holdfast can look at what a newer one wrote.
 * R2. Whoever looks for one kind has only that kind's values decoded.
 */
import { Attempt, Compaction, Directive, FinalStep, RetryStrategy, Route, Router, ToolCalls } from "@holdfast/kernel"
import type { Target } from "@holdfast/wire"
import { Option, Predicate, Schema } from "effect"
import type { Record } from "../storage/Journal.ts"

/** Where in its turn a record belongs. */
export interface Place {
  /** 0-based. */
  readonly step: number
  /** 0-based: of the attempt, its decision and its wait; or of the tool call. 0 where a step has one such record. */
  readonly number: number
}

export type TurnRecord = Place &
  (
    | { readonly _tag: "Attempt"; readonly outcome: Attempt.AttemptOutcome }
    /** Content of the attempt has left (X2). */
    | { readonly _tag: "Content" }
    | { readonly _tag: "Decision"; readonly directive: Directive.Directive }
    | { readonly _tag: "Wake"; readonly wake: RetryStrategy.Wake }
    | { readonly _tag: "Tool"; readonly result: ToolCalls.ToolRecord }
    /** The tool call was begun (X8). */
    | { readonly _tag: "Begun" }
    /** Where the step begins (P9). */
    | { readonly _tag: "Route"; readonly beginning: Router.Beginning }
    /** A context that was too long, made smaller or not (P19). */
    | { readonly _tag: "Compaction"; readonly outcome: Compaction.CompactionRecord }
    /** The step is the last (A11). */
    | { readonly _tag: "Final"; readonly final: FinalStep.FinalRecord }
  )

/** The kind of a record, by its name alone. */
export type Kind = TurnRecord["_tag"]

/** Reads a record (R1). */
export const of = (record: Record): TurnRecord | undefined => {
  const name = nameOf(record)
  if (name === undefined) return undefined
  const { kind, number, step } = name
  switch (kind) {
    case "Attempt": {
      const outcome = outcomeOf(record)
      return outcome && { _tag: kind, step, number, outcome }
    }
    case "Decision": {
      const directive = directiveOf(record)
      return directive && { _tag: kind, step, number, directive }
    }
    case "Wake": {
      const wake = wakeOf(record)
      return wake && { _tag: kind, step, number, wake }
    }
    case "Tool": {
      const result = Option.getOrUndefined(decodeTool(record.value))
      return result && { _tag: kind, step, number, result }
    }
    case "Route": {
      const beginning = Option.getOrUndefined(decodeBeginning(record.value))
      return beginning && { _tag: kind, step, number, beginning }
    }
    case "Compaction": {
      const outcome = compactionOf(record)
      return outcome && { _tag: kind, step, number, outcome }
    }
    case "Final": {
      const final = Option.getOrUndefined(decodeFinal(record.value))
      return final && { _tag: kind, step, number, final }
    }
    case "Content":
    case "Begun":
      return { _tag: kind, step, number }
    default:
      return kind satisfies never
  }
}

/** The decision of a record that is one. */
export const directiveOf = (record: Record): Directive.Directive | undefined =>
  nameOf(record)?.kind === "Decision" ? Option.getOrUndefined(decodeDirective(record.value)) : undefined

/** A wait as the decision that begins it tells it. */
export interface Begun {
  /** The absolute end, in epoch milliseconds. */
  readonly retryAt: number
  readonly delayMs: number
  /** Where the retry goes, where it was sent somewhere. */
  readonly route?: Route.Route
  /** What the provider asked for, where that counted, in milliseconds. */
  readonly hintMs?: number
  /** What failed says nothing of the endpoint; absent: it does, or nobody wrote it down. */
  readonly ofEndpoint?: false
}

/**
 * The wait that a decision begins; `undefined` where it begins none.
 *
 * A start asks this of every turn that waits. It reads a few keys of the JSON and leaves the rest of the decision alone, which
 * makes it ten times as fast as decoding.
 */
export const begunBy = (record: Record): Begun | undefined => {
  if (nameOf(record)?.kind !== "Decision") return undefined
  let decision: unknown
  try {
    decision = JSON.parse(record.value)
  } catch {
    return undefined // R1
  }
  if (!Predicate.isTagged(decision, "Retry")) return undefined
  const retryAt = numberAt(decision, "retryAt")
  const delayMs = numberAt(decision, "delayMs") ?? 0
  const to: unknown = Predicate.hasProperty(decision, "route") ? decision.route : undefined
  // As `Directive.isImmediate`, of what is not decoded.
  if (retryAt === undefined || (to !== undefined && delayMs <= 0)) return undefined
  const route = to === undefined ? undefined : Option.getOrUndefined(decodeRoute(to))
  const basis: unknown = Predicate.hasProperty(decision, "basis") ? decision.basis : undefined
  const hintMs = numberAt(basis, "hintMs")
  const isApart = Predicate.hasProperty(basis, "ofEndpoint") && basis.ofEndpoint === false
  return {
    retryAt,
    delayMs,
    ...(route === undefined ? undefined : { route }),
    ...(hintMs === undefined ? undefined : { hintMs }),
    ...(isApart ? { ofEndpoint: false } : undefined)
  }
}

/** Whether a name is that of the end, or the change, of a wait. */
export const isWake = (name: string): boolean => nameOf({ name })?.kind === "Wake"

/** What a record says about it. */
export const wakeOf = (record: Record): RetryStrategy.Wake | undefined =>
  isWake(record.name) ? Option.getOrUndefined(decodeWake(record.value)) : undefined

/** The outcome of an attempt that a record is. */
export const outcomeOf = (record: Record): Attempt.AttemptOutcome | undefined =>
  nameOf(record)?.kind === "Attempt" ? Option.getOrUndefined(decodeOutcome(record.value)) : undefined

/** What came of a compaction. */
export const compactionOf = (record: Record): Compaction.CompactionRecord | undefined =>
  nameOf(record)?.kind === "Compaction" ? Option.getOrUndefined(decodeCompaction(record.value)) : undefined

/** Where a turn's attempts go from a record on, where it changes that. */
export const targetOf = (record: TurnRecord): Target.Target | undefined => {
  switch (record._tag) {
    case "Route":
      return record.beginning.route.target
    case "Decision":
      return record.directive._tag === "Retry" ? record.directive.route?.target : undefined
    case "Wake":
      return record.wake.type === "switched" ? record.wake.target : undefined
    default:
      return undefined
  }
}

/** What a record's name says; `undefined` for a name of another kind. */
export const nameOf = ({ name }: Pick<Record, "name">): (Place & { readonly kind: Kind }) | undefined => {
  const [, step, word = "", number, part] = NAME.exec(name) ?? []
  if (number === undefined) {
    const kind = ONCE[word]
    return kind && { kind, step: Number(step), number: 0 }
  }
  const kind = part === undefined || DIGITS.test(part) ? KINDS[word] : KINDS[`${word}/${part}`]
  // Only a wait has parts.
  if (kind === undefined || (part !== undefined && DIGITS.test(part) && kind !== "Wake")) return undefined
  return { kind, step: Number(step), number: Number(number) }
}

// --- internal

const NAME = /^step\/(\d+)\/([a-z]+)(?:\/(\d+)(?:\/([a-z]+|\d+))?)?$/
const DIGITS = /^\d+$/

const KINDS: Readonly<globalThis.Record<string, Kind>> = {
  attempt: "Attempt",
  "attempt/content": "Content",
  decision: "Decision",
  sleep: "Wake",
  compaction: "Compaction",
  tool: "Tool",
  "tool/begun": "Begun"
}

const ONCE: Readonly<globalThis.Record<string, Kind>> = { route: "Route", final: "Final" }

const decoderOf = <A, I>(schema: Schema.Codec<A, I>) =>
  Schema.decodeUnknownOption(Schema.fromJsonString(Schema.toCodecJson(schema)))

const numberAt = (value: unknown, key: string): number | undefined => {
  const found = Predicate.hasProperty(value, key) ? value[key] : undefined
  return typeof found === "number" ? found : undefined
}

const decodeRoute = Schema.decodeUnknownOption(Route.Route)
const decodeOutcome = decoderOf(Attempt.AttemptOutcome)
const decodeDirective = decoderOf(Directive.Directive)
const decodeWake = decoderOf(RetryStrategy.Wake)
const decodeTool = decoderOf(ToolCalls.ToolRecord)
const decodeBeginning = decoderOf(Router.Beginning)
const decodeCompaction = decoderOf(Compaction.CompactionRecord)
const decodeFinal = decoderOf(FinalStep.FinalRecord)
