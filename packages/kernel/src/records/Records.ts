/**
 * The records of a turn: their kinds, names and values (`Values`). This module is the on-disk format.
 *
 * - A kind never changes its name, and its old values stay readable; new kinds and optional fields may be added.
 * - A record of an unknown kind is skipped: an older version can read the journal of a newer one.
 * - Time and chance enter a turn through records alone.
 * - Values are JSON as they are: no schema here has a type whose encoding is another value, and numbers are finite.
 */
import { defined, Failure, Ids, JsonShape, Message, Target, TurnEvent } from "@holdfast/wire"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Rec from "effect/Record"
import * as Schema from "effect/Schema"
import { Refusal } from "../ports/FinalReport.ts"
import { Route } from "./Route.ts"

// --- outcomes of calls

const response = {
  content: Schema.Array(Message.AssistantPart),
  usage: Schema.optionalKey(Message.Usage),
  /** Epoch milliseconds. */
  endedAt: Schema.Number
}

/**
 * The whole body of a failed response, for the record alone (D5); `true`: the same body as that of the last failure in the step that has
 * one.
 */
export const Body = Schema.Union([Schema.String, Schema.Literal(true)])
export type Body = typeof Body.Type

/** The outcome of an attempt. */
export const AttemptOutcome = Schema.Union([
  Schema.TaggedStruct("Completed", { ...response, finishReason: Message.FinishReason }),
  Schema.TaggedStruct("Failed", {
    ...response,
    failure: Failure.Failure,
    body: Schema.optionalKey(Body),
    contentSeen: Schema.Boolean,
    /** No client had received any of its content, and none will (X7). Absent: a client had, or the setting is not `unseen`. */
    unseen: Schema.optionalKey(Schema.Literal(true)),
    /** The response was complete and was rejected (A9). */
    whole: Schema.optionalKey(Schema.Literal(true)),
    /** The fault of the report in the response (A12). */
    report: Schema.optionalKey(Refusal),
    /** Drawn for the decision about this failure (`Spent.spread`). */
    spread: Schema.Number
  }),
  /** Its process died after content had left; the content was not recorded (X2). */
  Schema.TaggedStruct("Lost", { endedAt: Schema.Number })
])
export type AttemptOutcome = typeof AttemptOutcome.Type

/** The outcome of a compaction. `endedAt` is in epoch milliseconds. */
export const CompactionOutcome = Schema.Union([
  Schema.TaggedStruct("Compacted", {
    summary: Schema.String,
    /** The last message that the summary replaces. */
    upTo: Ids.MessageId,
    usage: Schema.optionalKey(Message.Usage),
    endedAt: Schema.Number
  }),
  /** No message can be left out. */
  Schema.TaggedStruct("Nothing", {
    /** Present if a model call found that the older part itself is too long. */
    failure: Schema.optionalKey(Failure.Failure),
    body: Schema.optionalKey(Body),
    endedAt: Schema.Number
  }),
  Schema.TaggedStruct("Failed", {
    failure: Failure.Failure,
    body: Schema.optionalKey(Body),
    /** Drawn for the decision about this failure (`Spent.spread`). */
    spread: Schema.Number,
    endedAt: Schema.Number
  })
])
export type CompactionOutcome = typeof CompactionOutcome.Type

/** The result of a tool call. */
export const ToolResult = Schema.Struct({
  output: Schema.Json,
  /** As in the message of the result: its texts and files, where it has files. */
  content: Message.ToolResultPart.fields.content,
  isError: Schema.Boolean,
  /** Epoch milliseconds. */
  endedAt: Schema.Number
})
export type ToolResult = typeof ToolResult.Type

/** The life of the turn that began a tool call. */
export const Begun = Schema.Struct({ life: Schema.String })
export type Begun = typeof Begun.Type

// --- decisions and waits

/** Why there is no retry. */
export const Because = Schema.Literals([
  "after-content",
  "not-retryable",
  "context-overflow",
  "defect",
  "no-strategy",
  "exhausted"
])
export type Because = typeof Because.Type

/** The basis of the strategy's decision (X9). */
const basis = Schema.optionalKey(Schema.Json)

/** A decision about a failure, recorded before anything follows from it. */
export const Directive = Schema.Union([
  Schema.TaggedStruct("Retry", {
    /** 0-based. */
    attempt: Schema.Int,
    /** The delay that the budget counts (D2). */
    delayMs: Schema.Number,
    /** Epoch milliseconds: the absolute end of the wait. */
    retryAt: Schema.Number,
    /** When the wait began, in epoch milliseconds. Absent: `delayMs` before its end. */
    since: Schema.optionalKey(Schema.Number),
    /** The failed attempt was an early one by the gate: it counts nothing, and the wait that it interrupted continues (X5). */
    resumes: Schema.optionalKey(Schema.Literal(true)),
    /** The route of the retry; absent: that of the failed attempt. */
    route: Schema.optionalKey(Route),
    /** The router receives it again with the next decision of this step. */
    state: Schema.optionalKey(Schema.Json),
    /** The failed attempt had content, which is void by this setting (X7). Absent: it had none. */
    midStream: Schema.optionalKey(Schema.Literals(["discard", "unseen"])),
    basis
  }),
  Schema.TaggedStruct("GiveUp", {
    because: Because,
    /** The setting for an attempt that had content (X7). Absent: `fail`, or it had none. */
    midStream: Schema.optionalKey(Schema.Literals(["discard", "unseen"])),
    basis
  })
])
export type Directive = typeof Directive.Type

/** The command that ended or changed a sleep, so that the same command again does nothing (X4). */
export const Command = Schema.Struct({
  commandId: Schema.String,
  /** Its origin in words: a transport, a person. */
  origin: Schema.String
})
export type Command = typeof Command.Type

const wake = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({
    type: Schema.tag(type),
    by: Schema.optionalKey(Command),
    /** When the turn received it, in epoch milliseconds; the kernel records it (X9). */
    at: Schema.optionalKey(Schema.Finite),
    ...fields
  })

/**
 * Why a sleep ended.
 *
 * - `elapsed`: its time was over.
 * - `now`: a person, or with `early` the shell, requested the next attempt at once.
 * - `cancelled`: a person cancelled further attempts (P14).
 * - `until`: a person moved its end; it continues.
 * - `switched`: a person requested the next attempt at once, on another target.
 * - `extended`: a person extended the step's budget; it continues.
 * - `asked`: its time was over, and the strategy asks a person first (X11); it continues until there is an answer, at most until `until`.
 *   Only the kernel creates this kind: `sleep` does not return it. A question about tool calls begins with it: no wait precedes it.
 * - `answered`: a person approved or refused a tool call; the question continues while a call has no answer.
 */
export const Wake = Schema.Union([
  wake("elapsed", {
    /** Milliseconds for which the gate held the retry after the end of the wait (X5); the shell sets it. */
    heldMs: Schema.optionalKey(Schema.Finite)
  }),
  wake("now", {
    /** The shell ended the sleep early, because the endpoint answers again or as a probe. */
    early: Schema.optionalKey(Schema.Literal(true))
  }),
  wake("cancelled", {}),
  wake("until", { until: Schema.Finite }),
  wake("switched", { target: Target.Target }),
  wake("extended", { byMs: Schema.Finite }),
  wake("asked", { until: Schema.Finite, asks: TurnEvent.Asks }),
  wake("answered", {
    toolCallId: Schema.String,
    approved: Schema.Boolean,
    /** The person's reason, for the model. */
    reason: Schema.optionalKey(Schema.String)
  })
])
export type Wake = typeof Wake.Type

// --- steps and the end

/** The route of a step's first attempt. */
export const Beginning = Schema.Struct({
  route: Route,
  /**
   * The `provider/model` that the conversation used last, at the beginning of a turn: the route is compared with it. Absent in later steps,
   * in a new conversation, and in the records of versions that compared with the turn's own target.
   */
  from: Schema.optionalKey(Schema.String),
  /** The router receives it again within this step. */
  state: Schema.optionalKey(Schema.Json)
})
export type Beginning = typeof Beginning.Type

/**
 * Why a step is the last.
 *
 * - `max-turns`: the turn reached its limit of steps.
 * - `context`: the next request would be too long.
 * - `malformed-report`: a submitted report was rejected (A12).
 * - `retries-exhausted`: the step before used up its attempts on invalid responses (A14).
 */
export const FinalCause = Schema.Literals(["max-turns", "context", "malformed-report", "retries-exhausted"])
export type FinalCause = typeof FinalCause.Type

/** Marks a step as the last. `at` is in epoch milliseconds. */
export const Final = Schema.Struct({ cause: FinalCause, at: Schema.Number })
export type Final = typeof Final.Type

/** The end of a turn. `at` is in epoch milliseconds. */
export const Seal = Schema.Struct({
  at: Schema.Number,
  /** The abort or failure that cut the turn off; absent: it ended by itself. */
  cut: Schema.optionalKey(
    Schema.Struct({
      failure: Failure.Failure,
      status: Schema.Literals(["failed", "aborted"]),
      /** What the response had said that was under way, or about to be; absent: none was. */
      said: Schema.optionalKey(
        Schema.Struct({ content: Schema.Array(Message.AssistantPart), usage: Schema.optionalKey(Message.Usage) })
      ),
      /** The provider had been called. */
      called: Schema.optionalKey(Schema.Literal(true))
    })
  )
})
export type Seal = typeof Seal.Type

/** Marks that the first content of an attempt is about to leave. */
export const Content = Schema.Literal(true)

// --- records

/** The step and number of a record within its turn. */
export interface RecordPosition {
  /** 0-based; 0 for the seal. */
  readonly step: number
  /**
   * 0-based: that of the attempt or compaction, with its decision and its wait; or that of the tool call. 0 if a step has only one record
   * of the kind.
   */
  readonly number: number
}

/** The value of a record, by its kind. With the name of the record: S is the step, N the attempt, I the tool call. */
export interface Values {
  /** `step/S/final`: the step is the turn's last. */
  readonly Final: Final
  /** `step/S/route`: where the step begins. */
  readonly Route: Beginning
  /** `step/S/attempt/N/content`: the first content of an attempt is about to leave. */
  readonly Content: true
  /** `step/S/attempt/N`: the outcome of an attempt. */
  readonly Attempt: AttemptOutcome
  /** `step/S/decision/N`: the directive after the failure of attempt or compaction N. */
  readonly Decision: Directive
  /**
   * `step/S/sleep/N`, `step/S/sleep/N/P`: why a wait ended, or part P of a changed one; after the response of attempt N: the question about
   * its tool calls, and its answers.
   */
  readonly Wake: Wake
  /** `step/S/compaction/N`: the outcome of a compaction; N continues the count of the attempt that was too long. */
  readonly Compaction: CompactionOutcome
  /** `step/S/tool/I/begun`: a tool call is about to run. */
  readonly Begun: Begun
  /** `step/S/tool/I`: the result of a tool call. */
  readonly Tool: ToolResult
  /** `seal`: the turn ends, and when. */
  readonly Seal: Seal
}

/** The kind of a record. */
export type Kind = keyof Values

/** The value of a record of one kind. */
export type ValueOf<K extends Kind> = Values[K]

/** A record of one kind. */
export interface RecordOf<K extends Kind> extends RecordPosition {
  readonly kind: K
  readonly value: ValueOf<K>
}

/** A record of a turn. */
export type TurnRecord = { readonly [K in Kind]: RecordOf<K> }[Kind]

/** A record as an engine keeps it: its value is JSON text. */
export interface Stored {
  readonly name: string
  readonly value: string
}

/** How the values of a kind are written. */
interface Format<Value> {
  readonly schema: Schema.Codec<Value, unknown>
  /** Reads a value; `undefined`: it cannot be read. */
  readonly read: (text: string) => Value | undefined
}

const formatOf = <Value, I>(schema: Schema.Codec<Value, I>): Format<Value> => {
  const decode = Schema.decodeUnknownOption(schema)
  return { schema, read: (text) => Option.getOrUndefined(decode(JsonShape.parse(text))) }
}

/** Every kind. */
export const kinds: { readonly [K in Kind]: Format<ValueOf<K>> } = {
  Final: formatOf(Final),
  Route: formatOf(Beginning),
  Content: formatOf(Content),
  Attempt: formatOf(AttemptOutcome),
  Decision: formatOf(Directive),
  Wake: formatOf(Wake),
  Compaction: formatOf(CompactionOutcome),
  Begun: formatOf(Begun),
  Tool: formatOf(ToolResult),
  Seal: formatOf(Seal)
}

/** Makes a record of a value that an engine has returned under the name of the record. */
export const recordOf = (kind: Kind, { number, step }: RecordPosition, value: TurnRecord["value"]): TurnRecord =>
  ({ kind, step, number, value }) as TurnRecord // the schema of its kind has decoded the value

/** Returns the name of a record; `part` is the part of a wait that was changed. */
export const nameOf = (kind: Kind, step: number, number = 0, part = 0): string => {
  if (kind === "Seal") return SEAL
  if (isOnce(kind)) return `step/${step}/${PATHS[kind]}`
  const [word, mark = part === 0 ? undefined : part] = WORDS[kind]
  const name = `step/${step}/${word}/${number}`
  return mark === undefined ? name : `${name}/${mark}`
}

/** Returns the kind, step and number in a name; `undefined`: the kind is unknown. */
export const positionOf = (name: string): (RecordPosition & { readonly kind: Kind }) | undefined => {
  if (name === SEAL) return { kind: "Seal", step: 0, number: 0 }
  const [, step, word = "", number, part] = NAME.exec(name) ?? []
  const isPart = part !== undefined && DIGITS.test(part)
  const kind = KINDS.get(part === undefined || isPart ? word : `${word}/${part}`)
  if (kind === undefined || isOnce(kind) !== (number === undefined) || (isPart && kind !== "Wake")) return undefined
  return { kind, step: Number(step), number: Number(number ?? 0) }
}

/** Reads a record; `undefined`: its kind is unknown, or its value cannot be read. */
export const parse = ({ name, value }: Stored): TurnRecord | undefined => {
  const place = positionOf(name)
  const read = place && kinds[place.kind].read(value)
  return place && read && recordOf(place.kind, place, read)
}

/** Reads the value of a record of one kind; `undefined`: it is of another kind and its value is not decoded, or it cannot be read. */
export const valueOf = <K extends Kind>(kind: K, { name, value }: Stored): ValueOf<K> | undefined =>
  positionOf(name)?.kind === kind ? kinds[kind].read(value) : undefined

/** The route of attempts after a record, by the one before it. */
export const routeAfter = (record: TurnRecord, before: Route | undefined): Route | undefined => {
  if (record.kind === "Route") return record.value.route
  if (record.kind === "Decision" && record.value._tag === "Retry") return record.value.route ?? before
  return record.kind === "Wake" && record.value.type === "switched" ? switched(record.value.target, before) : before
}

/** The route to a target that a person chose: at the same provider the credential in use stays the same. */
export const switched = (target: Target.Target, before: Route = { target }): Route =>
  defined({ target, credential: before.target.provider === target.provider ? before.credential : undefined })

/** Whether a decision voids the content of the attempt that it is about (X7): `step-discarded` follows from it. */
export const isVoiding = (value: unknown): boolean =>
  Predicate.isTagged(value, "Retry") && Predicate.hasProperty(value, "midStream") && value.midStream !== undefined

// --- internal

const SEAL = "seal"
const NAME = /^step\/(\d+)\/([a-z]+)(?:\/(\d+)(?:\/([a-z]+|\d+))?)?$/
const DIGITS = /^\d+$/

/** The part of the name for each kind; the word after the slash follows the number. */
const PATHS = {
  Final: "final",
  Route: "route",
  Content: "attempt/content",
  Attempt: "attempt",
  Decision: "decision",
  Wake: "sleep",
  Compaction: "compaction",
  Begun: "tool/begun",
  Tool: "tool"
} as const satisfies Readonly<Record<Exclude<Kind, "Seal">, string>>

const WORDS = Rec.map(PATHS, (path) => path.split("/"))

const KINDS: ReadonlyMap<string, keyof typeof PATHS> = new Map(Rec.toEntries(PATHS).map(([kind, path]) => [path, kind]))

/** Whether a step has a single record of a kind, without a number. */
const isOnce = (kind: Kind): kind is "Final" | "Route" => kind === "Final" || kind === "Route"
