/**
 * Starts the deliveries of a service: ends of turns to webhooks, notices, and the report of the day (rules X12, X15).
 *
 * Without `webhooks` and without `telemetry.notifications` nothing is started, and the outbox is not looked at. The operator's receiver
 * may be at any address; the receiver of a request is reached at a public address only.
 */
import { Timer } from "@holdfast/journal"
import type { Failure, Ids } from "@holdfast/wire"
import { Clock, type Context, Effect, Layer, Metric, Option, Redacted, Schema } from "effect"
import { HttpClient } from "effect/http"
import { ChildProcessSpawner } from "effect/process"
import { Config, type Values } from "../config/Config.ts"
import { PeriodReports } from "../inspection/period/PeriodReports.ts"
import { StoredTurns } from "../inspection/StoredTurns.ts"
import { Secrets } from "../redaction/Secrets.ts"
import { type Claimed, Outbox } from "../storage/Outbox.ts"
import * as DailyTime from "../text/DailyTime.ts"
import * as Deliveries from "./Deliveries.ts"
import * as NoticeFormat from "./NoticeFormat.ts"
import * as Patience from "./Patience.ts"
import * as Posting from "./Posting.ts"
import * as QuestionNotice from "./QuestionNotice.ts"
import * as Receivers from "./Receivers.ts"
import * as ReportNotices from "./ReportNotices.ts"
import * as Signature from "./Signature.ts"
import * as TurnEndMessage from "./TurnEndMessage.ts"

/** The operator's receiver of every turn's end, as the outbox names it. */
export const EVERY_TURN = "webhooks.turnEnd"

const OUTCOMES = { delivered: "taken", refused: "refused" } as const

/** Counter of delivered and refused notices. */
export const notices = Metric.counter("holdfast_notifications_total", {
  description: "Notices and reports, by receiver and outcome: taken, refused.",
  incremental: true
})

/** Counts the end of a notice. */
export const count: NonNullable<Deliveries.Options["onEnd"]> = ({ receiver, turnId }, state) =>
  turnId === undefined
    ? Metric.update(Metric.withAttributes(notices, { receiver, outcome: OUTCOMES[state] }), 1)
    : Effect.void

/** Runs while the layer lives. */
export const layer: Layer.Layer<
  never,
  never,
  | Config
  | Outbox
  | PeriodReports
  | StoredTurns
  | Secrets
  | Timer.Timer
  | HttpClient.HttpClient
  | ChildProcessSpawner.ChildProcessSpawner
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { telemetry, webhooks } = yield* Config
    const { notifications } = telemetry
    const time = notifications?.report === undefined ? undefined : DailyTime.parse(notifications.report)
    yield* createSeries
    if (webhooks === undefined && notifications === undefined) return
    const outbox = yield* Outbox
    const { redact } = yield* Secrets
    const ends = webhooks === undefined ? undefined : yield* turnEnds(webhooks)
    const receivers =
      notifications === undefined ? new Map<string, Deliveries.Send>() : yield* receiversOf(notifications, redact)
    const kindOf = (message: Claimed): Deliveries.Kind | undefined => {
      if (message.turnId !== undefined) {
        return ends && { patience: Patience.OF_TURN_ENDS, send: ends }
      }
      const send = receivers.get(message.receiver)
      return send && { patience: Patience.OF_NOTICES, send }
    }
    yield* Effect.forkScoped(Deliveries.run({ outbox, redact, kindOf, onEnd: count }))
    if (time === undefined) return
    const { report } = yield* PeriodReports
    const { sleepUntil } = yield* Timer.Timer
    const { add } = outbox
    yield* Effect.forkScoped(ReportNotices.run({ time, receivers: [...receivers.keys()], report, add, sleepUntil }))
  })
)

// --- internal

/** Sends the end of a turn, signed. */
const turnEnds = Effect.fnUntraced(function* ({ secret, turnEnd }: NonNullable<Values["webhooks"]>) {
  const states = yield* StoredTurns
  const toOperator = Posting.viaClient(yield* HttpClient.HttpClient)
  const toClient = Posting.toPublic()
  const send: Deliveries.Send = ({ receiver, turnId }) =>
    Effect.gen(function* () {
      const state = turnId === undefined ? undefined : yield* stateOf(states, turnId)
      const isOperators = receiver === EVERY_TURN
      if (state === undefined || (isOperators && turnEnd === undefined)) return yield* Effect.fail(GONE)
      const body = TurnEndMessage.bodyOf(state)
      // The id of a message has no address in it.
      const messageId = isOperators ? `turn-end/${state.turnId}` : `turn-end/${state.turnId}/client`
      const signed = Signature.headers(Redacted.value(secret), messageId, yield* Clock.currentTimeMillis, body)
      const headers = { "content-type": "application/json", ...signed }
      const post = isOperators ? toOperator : toClient
      yield* post({ url: isOperators && turnEnd !== undefined ? Redacted.value(turnEnd) : receiver, headers, body })
    })
  return send
})

const stateOf = (states: StoredTurns["Service"], turnId: Ids.TurnId) =>
  states.find(turnId).pipe(
    Effect.catchTags({
      TurnNotFound: () => Effect.undefined,
      StorageError: ({ message }) => Effect.fail<Failure.Failure>({ reason: "unknown", message, retryable: true })
    })
  )

const GONE: Failure.Failure = {
  reason: "refused",
  message: "the turn or its receiver does not exist any more.",
  retryable: false
}

/** Every series exists before its first increment, which `increase` would miss otherwise. */
const createSeries = Effect.contextWith((context: Context.Context<never>) =>
  Effect.sync(() => {
    for (const receiver of ["webhook", "command"])
      for (const outcome of Object.values(OUTCOMES))
        Metric.withAttributes(notices, { receiver, outcome }).valueUnsafe(context)
  })
)

/** Sends notices and reports to their receivers. */
const receiversOf = Effect.fnUntraced(function* (
  { command, commandFormat = "json", format = "json", webhook }: NonNullable<Values["telemetry"]["notifications"]>,
  redact: (text: string) => string
) {
  const receivers = new Map<string, Deliveries.Send>()
  const states = yield* StoredTurns
  const via =
    (format: Parameters<typeof NoticeFormat.write>[0], send: Receivers.SendContent): Deliveries.Send =>
    ({ payload = "" }) =>
      Option.match(decodeBody(payload), {
        onNone: () => Effect.fail(GONE),
        onSome: (body) =>
          Effect.flatMap(
            QuestionNotice.isDue(body, (turnId) => stateOf(states, turnId)),
            (isDue) => (isDue ? send(NoticeFormat.write(format, body)) : Effect.void)
          )
      })
  if (webhook !== undefined) {
    receivers.set("webhook", via(format, Receivers.webhook(webhook, yield* HttpClient.HttpClient, redact)))
  }
  if (command !== undefined) {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    receivers.set("command", via(commandFormat, Receivers.command(command, spawner, redact)))
  }
  return receivers
})

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(NoticeFormat.KeptBody))
