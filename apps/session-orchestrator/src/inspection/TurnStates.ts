/** Reads what a turn is at, for a client of the service that did not stay with it (X15). */
import { Target, type Ids, type TurnEvent, type TurnState } from "@holdfast/wire"
import { Context, Effect, Layer, Option } from "effect"
import { Secrets } from "../redaction/Secrets.ts"
import * as Answer from "../conversation/Answer.ts"
import type { TurnRow } from "../storage/Lists.ts"
import type { Interruptions } from "../storage/Interruptions.ts"
import type { Journal } from "../durable/Journal.ts"
import { type StorageError, Store } from "../storage/Store.ts"
import * as Account from "../recovery/Account.ts"
import * as Evidence from "./Evidence.ts"
import { TurnNotFound } from "./TurnNotFound.ts"
import * as TurnReport from "./TurnReport.ts"

export class TurnStates extends Context.Service<
  TurnStates,
  {
    /** What a turn of any conversation is at. A parked one stays where it is. */
    readonly find: (turnId: Ids.TurnId) => Effect.Effect<TurnState.TurnState, TurnNotFound | StorageError>
    /** The conversation of a turn. */
    readonly conversationOf: (turnId: Ids.TurnId) => Effect.Effect<Ids.ConversationId, TurnNotFound | StorageError>
  }
>()("@holdfast/session-orchestrator/inspection/TurnStates") {}

/** Over what is on disk. */
export const layer: Layer.Layer<TurnStates, never, Store | Journal | Interruptions | Secrets> = Layer.effect(
  TurnStates,
  Effect.gen(function* () {
    const read = yield* Evidence.reader
    const store = yield* Store
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
      find: Effect.fn("TurnStates.find")(function* (turnId) {
        const evidence = Option.getOrUndefined(yield* read(turnId))
        return evidence === undefined ? yield* new TurnNotFound({ turnId }) : of(evidence, redact)
      })
    }
  })
)

/** What a turn is at by what is on record of it. */
export const of = (evidence: Evidence.Evidence, redact: Evidence.Redact): TurnState.TurnState => {
  const { events, records, turn } = evidence
  const { acceptedAt, conversationId, end, turnId } = turn
  const account = Account.of(records)
  return {
    conversationId,
    turnId,
    status: TurnReport.stateOf(end, account, events.length > 0),
    model: modelOf(evidence, account),
    acceptedAt,
    attempts: end?.attempts ?? Account.endedCalls(account.attempts),
    ...(end === undefined ? waitingOf(account, redact) : endedOf(end, events, redact))
  }
}

/** A turn in a list, by its row and what its records come to. */
export const summaryOf = (
  { hasEvents, model, turn: { acceptedAt, conversationId, end, prompt, turnId } }: TurnRow,
  account: Account.Account,
  redact: Evidence.Redact
): TurnState.TurnSummary => ({
  conversationId,
  turnId,
  status: TurnReport.stateOf(end, account, hasEvents),
  model: TurnReport.targetOf(account) ?? model,
  acceptedAt,
  attempts: end?.attempts ?? Account.endedCalls(account.attempts),
  ...(end === undefined ? waitingOf(account, redact) : sealedOf(end, redact)),
  ...(prompt === undefined ? {} : { prompt })
})

// --- internal

const waitingOf = (
  { place }: Account.Account,
  redact: Evidence.Redact
): Pick<TurnState.TurnState, "wait" | "error"> => {
  if (place._tag !== "Waiting") return {}
  const { asks, failure, retry, since, wakeAt } = place
  return {
    wait: { retry, retryAt: wakeAt, since, ...(asks === undefined ? {} : { asks }) },
    error: cleaned(TurnReport.errorOf(failure), redact)
  }
}

const sealedOf = (
  { endedAt, error, usage }: TurnEvent.TurnEnd,
  redact: Evidence.Redact
): Pick<TurnState.TurnState, "endedAt" | "usage" | "error"> => ({
  endedAt,
  usage,
  ...(error === undefined ? {} : { error: cleaned(TurnReport.errorOf(error), redact) })
})

const endedOf = (
  end: TurnEvent.TurnEnd,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  redact: Evidence.Redact
): Partial<TurnState.TurnState> => ({
  ...sealedOf(end, redact),
  ...(end.status === "completed" ? { text: Answer.textOf(events) } : {}),
  ...(end.report === undefined ? {} : { report: end.report })
})

/** The journal of an ended turn may be gone (`database.retention`); its events stay, and have a change of the target (P8). */
const modelOf = ({ conversation, events }: Evidence.Evidence, account: Account.Account): string => {
  const changed = events.findLast((event) => event.type === "model-change")?.to
  const answered = Answer.messageOf(events)?.target
  return (
    TurnReport.targetOf(account) ?? changed ?? (answered === undefined ? conversation.model : Target.format(answered))
  )
}

/** A record may be older than the rule that would have cleaned it. */
const cleaned = (error: TurnReport.ErrorReport, redact: Evidence.Redact): TurnState.TurnError => ({
  ...error,
  message: redact(error.message),
  ...(error.code === undefined ? {} : { code: redact(error.code) })
})
