/**
 * Starts the deliveries of a service: ends of turns to webhooks, notices, and the report of the day (rules X12, X15).
 *
 * Without `webhooks` and without `telemetry.notifications` nothing is started, and the outbox is not looked at. The operator's receiver
 * may be at any address; the receiver of a request is reached at a public address only.
 */
import { type StorageError, Timer } from "@holdfast/journal"
import type { Failure, Ids, PeriodReport, TurnState } from "@holdfast/wire"
import { Clock, Effect, Layer, Option, Redacted, Schedule, Schema } from "effect"
import { HttpClient } from "effect/http"
import { ChildProcessSpawner } from "effect/process"
import { Config, type Values } from "../../config/Config.ts"
import { PeriodReports } from "../../insight/inspection/period/PeriodReports.ts"
import { StoredTurns } from "../../insight/inspection/StoredTurns.ts"
import { Secrets } from "../../config/redaction/Secrets.ts"
import { type Claimed, type NewMessage, Outbox } from "../../storage/Outbox.ts"
import * as Series from "../telemetry/metrics/Series.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Deliveries from "./Deliveries.ts"
import * as NoticeFormat from "./NoticeFormat.ts"
import * as NoticeMessages from "./NoticeMessages.ts"
import * as Posting from "./Posting.ts"
import * as QuestionNotice from "./QuestionNotice.ts"
import { createHmac } from "node:crypto"

/** The operator's receiver of every turn's end, as the outbox names it. */
export const EVERY_TURN = "webhooks.turnEnd"

/** Runs while the layer lives. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { telemetry, webhooks } = yield* Config
    const { notifications } = telemetry
    const time = notifications?.report
    const series = { receiver: ["webhook", "command"], outcome: ["taken", "refused"] }
    Series.create(Deliveries.notices, series, yield* Effect.context<never>())
    if (webhooks === undefined && notifications === undefined) return
    const outbox = yield* Outbox
    const { redact } = yield* Secrets
    const ends = webhooks === undefined ? undefined : yield* turnEnds(webhooks)
    const receivers =
      notifications === undefined
        ? new Map<string, Deliveries.SendMessage>()
        : yield* receiversOf(notifications, redact)
    const kindOf = (message: Claimed): Deliveries.MessageKind | undefined => {
      if (message.turnId !== undefined) {
        return ends && { patience: Deliveries.OF_TURN_ENDS, send: ends }
      }
      const send = receivers.get(message.receiver)
      return send && { patience: Deliveries.OF_NOTICES, send }
    }
    yield* Effect.forkScoped(Deliveries.run({ outbox, redact, kindOf }))
    if (time === undefined) return
    const { report } = yield* PeriodReports
    const { sleepUntil } = yield* Timer.Timer
    const { add } = outbox
    yield* Effect.forkScoped(dailyReports({ time, receivers: [...receivers.keys()], report, add, sleepUntil }))
  })
)

/**
 * The headers of a message that is signed for its receiver, as Standard Webhooks does (standardwebhooks.com): over id, time and body, so none of
 * them can be changed, and an old message can be refused.
 */
export const signatureOf = (secret: string, id: string, at: number, body: string): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(at / 1000))
  const key = secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), "base64") : Buffer.from(secret)
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` }
}

/** The body: its type names how the turn ended, and `data` is the turn as `GET /v1/turns/:turnId` has it. */
const bodyOf = (state: TurnState.TurnState): string =>
  JSON.stringify({
    type: `turn.${state.status}`,
    timestamp: new Date(state.endedAt ?? state.acceptedAt).toISOString(),
    data: state
  })

/** How late a report is still made. */
export const LATE_MS = 6 * 3_600_000

/** The sources of a report, and where it goes. */
interface ReportOptions {
  readonly time: string
  readonly receivers: ReadonlyArray<string>
  readonly report: (since: number, until: number) => Effect.Effect<PeriodReport.PeriodReport, StorageError>
  readonly add: (messages: ReadonlyArray<NewMessage>) => Effect.Effect<void, StorageError>
  readonly sleepUntil: (at: number) => Effect.Effect<void>
}

/**
 * Puts the report of a day into the outbox at a time of day, without end. A service that was down at the time makes it at its start, up to `LATE_MS`
 * later. A report's id is its moment, so it is sent once, whichever runner made it and however often the service restarts.
 */
export const dailyReports = Effect.fnUntraced(function* ({ add, receivers, report, sleepUntil, time }: ReportOptions) {
  const make = Effect.fnUntraced(
    function* (at: number) {
      const found = yield* report(LocalTime.lastDaily(time, at - 1), at)
      const body = { id: `report/${new Date(at).toISOString()}`, type: "report", text: found.line, report: found }
      yield* add(NoticeMessages.of({ names: receivers }, "report", body, at))
    },
    Effect.retry(REPORT_RETRIES),
    Effect.catchTag("StorageError", ({ message }) =>
      Effect.logError(`The report of the day could not be made. ${message}`)
    )
  )
  const now = yield* Clock.currentTimeMillis
  const missed = LocalTime.lastDaily(time, now)
  if (now - missed <= LATE_MS) yield* make(missed)
  return yield* Effect.forever(
    Effect.gen(function* () {
      const at = LocalTime.nextDaily(time, yield* Clock.currentTimeMillis)
      yield* sleepUntil(at)
      yield* make(at)
    })
  )
})

// --- internal

/** The prefix of a secret that is written in base64. */
const PREFIX = "whsec_"

/** Sends the end of a turn, signed. */
const turnEnds = Effect.fnUntraced(function* ({ secret, turnEnd }: NonNullable<Values["webhooks"]>) {
  const states = yield* StoredTurns
  const toOperator = Posting.viaClient(yield* HttpClient.HttpClient)
  const toClient = Posting.toPublic()
  const send: Deliveries.SendMessage = ({ receiver, turnId }) =>
    Effect.gen(function* () {
      const state = turnId === undefined ? undefined : yield* stateOf(states, turnId)
      const isOperators = receiver === EVERY_TURN
      if (state === undefined || (isOperators && turnEnd === undefined)) return yield* Effect.fail(GONE)
      const body = bodyOf(state)
      // The id of a message has no address in it.
      const messageId = isOperators ? `turn-end/${state.turnId}` : `turn-end/${state.turnId}/client`
      const signed = signatureOf(Redacted.value(secret), messageId, yield* Clock.currentTimeMillis, body)
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

/** Sends notices and reports to their receivers. */
const receiversOf = Effect.fnUntraced(function* (
  { command, commandFormat = "json", format = "json", webhook }: NonNullable<Values["telemetry"]["notifications"]>,
  redact: (text: string) => string
) {
  const receivers = new Map<string, Deliveries.SendMessage>()
  const states = yield* StoredTurns
  const via =
    (format: Parameters<typeof NoticeFormat.write>[0], send: Posting.SendContent): Deliveries.SendMessage =>
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
    receivers.set("webhook", via(format, Posting.webhook(webhook, yield* HttpClient.HttpClient, redact)))
  }
  if (command !== undefined) {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    receivers.set("command", via(commandFormat, Posting.command(command, spawner, redact)))
  }
  return receivers
})

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(NoticeFormat.NoticeBody))

/** The database may be away for a while: an hour. */
const REPORT_RETRIES = { schedule: Schedule.spaced("1 minute"), times: 60 } as const
