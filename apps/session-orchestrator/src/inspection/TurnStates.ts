/**
 * Reads a turn's state for a client that left it running (rule X15).
 *
 * A client polls it, so what it does not give is not read: prompts, results of tools, and all answers but the last.
 */
import type { StorageError } from "@holdfast/journal"
import { History } from "@holdfast/kernel/host"
import { defined, FilePart, type Ids, type PeriodReport, Target, type TurnEvent, type TurnState } from "@holdfast/wire"
import { Context, Effect, Layer, Option } from "effect"
import type { Prices } from "@holdfast/policy"
import { PriceTable } from "./period/PriceTable.ts"
import { Secrets } from "../redaction/Secrets.ts"
import * as ModelAnswer from "../conversation/ModelAnswer.ts"
import { Lists, type TurnRow } from "../storage/Lists.ts"
import { Store } from "../storage/Store.ts"
import * as StoredTurn from "./StoredTurn.ts"
import * as TurnCost from "./period/TurnCost.ts"
import { TurnNotFound } from "../conversation/TurnNotFound.ts"
import * as TurnReport from "./TurnReport.ts"

/** Reads the states of stored turns. */
export class TurnStates extends Context.Service<
  TurnStates,
  {
    /** The state of a turn in any conversation. A parked turn is not woken. */
    readonly find: (turnId: Ids.TurnId) => Effect.Effect<TurnState.TurnState, TurnNotFound | StorageError>
    /** The conversation of a turn. */
    readonly conversationOf: (turnId: Ids.TurnId) => Effect.Effect<Ids.ConversationId, TurnNotFound | StorageError>
    /** The newest turn of a conversation; none before the first, and for an unknown conversation. */
    readonly newestOf: (id: Ids.ConversationId) => Effect.Effect<Ids.TurnId | undefined, StorageError>
  }
>()("@holdfast/session-orchestrator/inspection/TurnStates") {}

/** Reads the states from the stored data. */
export const layer: Layer.Layer<TurnStates, never, Store | Lists | Secrets | PriceTable> = Layer.effect(
  TurnStates,
  Effect.gen(function* () {
    const prices = yield* PriceTable
    const store = yield* Store
    const read = yield* StoredTurn.digestReader
    const lists = yield* Lists
    const { redact } = yield* Secrets
    return {
      conversationOf: (turnId) =>
        Effect.flatMap(
          store.turn(turnId),
          Option.match({
            onNone: () => Effect.fail(new TurnNotFound({ turnId })),
            onSome: ({ conversationId }) => Effect.succeed(conversationId)
          })
        ),
      newestOf: (id) => Effect.map(store.lastTurn(id), (turn) => Option.getOrUndefined(turn)?.turnId),
      find: Effect.fn("TurnStates.find")(function* (turnId) {
        const evidence = Option.getOrUndefined(yield* read(turnId))
        if (evidence === undefined) return yield* new TurnNotFound({ turnId })
        return {
          ...of(evidence, redact, prices),
          ...(yield* lists.labelsOf(turnId))
        }
      })
    }
  })
)

/** The state of a turn, from its stored data; of its events and records the digest and the outline will do. */
export const of = (
  evidence: Omit<StoredTurn.StoredTurn, "interruption">,
  redact: StoredTurn.Redact,
  prices: Prices.Prices = {}
): TurnState.TurnState => {
  const { events, records, turn } = evidence
  const { acceptedAt, conversationId, end, turnId } = turn
  const history = History.of(records)
  return {
    conversationId,
    turnId,
    status: TurnReport.stateOf(end, history, events.length > 0),
    model: modelOf(evidence, history),
    acceptedAt,
    attempts: end?.attempts ?? History.callsOf(history),
    ...(end === undefined
      ? waitingOf(history, redact)
      : {
          ...endedOf(end, events, redact),
          cost: costOf(end, evidence, history, prices)
        })
  }
}

/** A turn in a list, by its row and what its records come to. */
export const summaryOf = (
  { hasChangedModel, hasEvents, labels, model, turn: { acceptedAt, conversationId, end, prompt, turnId } }: TurnRow,
  history: History.History,
  redact: StoredTurn.Redact,
  prices: Prices.Prices = {}
): TurnState.TurnSummary => ({
  conversationId,
  turnId,
  status: TurnReport.stateOf(end, history, hasEvents),
  model: TurnReport.targetOf(history) ?? model,
  acceptedAt,
  attempts: end?.attempts ?? History.callsOf(history),
  ...(end === undefined
    ? waitingOf(history, redact)
    : {
        ...sealedOf(end, redact),
        // Only its records have which model used how much.
        cost: hasChangedModel ? "unknown" : TurnCost.of(end, history, model, prices)
      }),
  ...labels,
  ...(prompt === undefined ? {} : { prompt })
})

// --- internal

/** Once its records are deleted, the shares of several models are not known any more. */
const costOf = (
  end: TurnEvent.TurnEnd,
  evidence: StoredTurn.StoredTurn,
  history: History.History,
  prices: Prices.Prices
): PeriodReport.Cost =>
  history.attempts.length === 0 && evidence.events.some(({ type }) => type === "model-change")
    ? "unknown"
    : TurnCost.of(end, history, modelOf(evidence, history), prices)

const waitingOf = (
  { wait }: History.History,
  redact: StoredTurn.Redact
): Pick<TurnState.TurnState, "wait" | "error"> => {
  if (wait === undefined) return {}
  const { asks, failure, retry, retryAt, since } = wait
  return {
    wait: { retry, retryAt, since, ...defined({ asks: asks && questionOf(asks, redact) }) },
    ...(failure === undefined ? {} : { error: cleaned(TurnReport.errorOf(failure), redact) })
  }
}

/** Arguments of a tool call may have secrets, which are redacted as in an error. */
const questionOf = (asks: TurnEvent.Asks, redact: StoredTurn.Redact): TurnEvent.Asks => ({
  ...asks,
  message: redact(asks.message),
  ...defined({ calls: asks.calls?.map((call) => ({ ...call, quoted: redact(call.quoted) })) })
})

const sealedOf = (
  { endedAt, error, sleptMs, usage, waitedMs = sleptMs }: TurnEvent.TurnEnd,
  redact: StoredTurn.Redact
): Pick<TurnState.TurnState, "endedAt" | "waitedMs" | "usage" | "error"> => ({
  endedAt,
  waitedMs,
  usage,
  ...(error === undefined ? {} : { error: cleaned(TurnReport.errorOf(error), redact) })
})

const endedOf = (
  end: TurnEvent.TurnEnd,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  redact: StoredTurn.Redact
): Partial<TurnState.TurnState> => ({
  ...sealedOf(end, redact),
  ...defined({
    text: end.status === "completed" ? ModelAnswer.textOf(events) : undefined,
    files: end.status === "completed" ? filesOf(events) : undefined,
    report: end.report
  })
})

const filesOf = (events: ReadonlyArray<TurnEvent.PersistedEvent>): TurnState.TurnState["files"] => {
  const [first, ...more] = ModelAnswer.filesOf(events).map((file) => ({
    mediaType: file.mediaType,
    ...defined({ name: file.name }),
    ...("data" in file ? { sizeBytes: FilePart.sizeOf(file) } : { url: file.url })
  }))
  return first === undefined ? undefined : [first, ...more]
}

/** The journal of an ended turn may be deleted (`database.retention`); its events stay, and contain changes of the target (rule P8). */
const modelOf = ({ conversation, events, turn }: StoredTurn.StoredTurn, history: History.History): string => {
  const changed = events.findLast((event) => event.type === "model-change")?.to
  const answered = ModelAnswer.messageOf(events)?.target
  return (
    TurnReport.targetOf(history) ??
    changed ??
    (answered === undefined ? (turn.model ?? conversation.model) : Target.format(answered))
  )
}

/** A record may be older than the rule that would have redacted it. */
const cleaned = (error: TurnState.TurnError, redact: StoredTurn.Redact): TurnState.TurnError => ({
  ...error,
  message: redact(error.message),
  ...defined({ code: error.code === undefined ? undefined : redact(error.code) })
})
