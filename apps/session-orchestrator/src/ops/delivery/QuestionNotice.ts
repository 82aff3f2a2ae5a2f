/**
 * The notice of a question that a turn asks a person. Pure.
 *
 * Its id follows from the turn and the beginning of the question: a question that is asked again after one of its answers, or whose
 * deadline is moved, is the same one. It is due once the question has been open for a while. An answered question is not sent, also
 * where it was answered after a restart.
 */
import { defined, Ids, type TurnEvent, type TurnState } from "@holdfast/wire"
import { Duration, Effect, Option, Schema } from "effect"
import type { NewMessage } from "../../storage/Outbox.ts"
import * as Prose from "../../base/text/Prose.ts"
import type { NoticeBody } from "./NoticeFormat.ts"
import * as NoticeMessages from "./NoticeMessages.ts"

/** A question, as a turn asked it. */
export interface Question {
  readonly event: TurnEvent.ProviderRetry
  readonly asks: TurnEvent.Asks
}

/** Where notices go, and when. */
export interface Options {
  /** How long a question must have been open. */
  readonly after: Duration.Duration
  readonly receivers: NoticeMessages.Receivers
  readonly redact: (text: string) => string
  /** Where a browser reaches the page, without a path. */
  readonly origin: string | undefined
}

/** The messages of a question. */
export const messagesOf = (
  question: Question,
  { after, origin, receivers, redact }: Options
): ReadonlyArray<NewMessage> => {
  const openAt = sinceOf(question.event) + Duration.toMillis(after)
  return NoticeMessages.of(receivers, "questions", bodyOf(question, redact, origin), openAt)
}

/** Whether a notice is to be sent: any but that of a question which its turn does not ask any more. */
export const isDue = <E>(
  body: NoticeBody,
  stateOf: (turnId: Ids.TurnId) => Effect.Effect<TurnState.TurnState | undefined, E>
): Effect.Effect<boolean, E> => {
  const asked = body.type === TYPE ? Option.getOrUndefined(decodeAsked(body)) : undefined
  if (asked === undefined) return Effect.succeed(true)
  return Effect.map(stateOf(asked.turnId), (state) => {
    const { asks, since = 0 } = state?.wait ?? {}
    return asks !== undefined && since <= Date.parse(asked.since)
  })
}

// --- internal

const TYPE = "question"

/** Characters of a question in a notice. */
const MOST_MESSAGE = 600

const decodeAsked = Schema.decodeUnknownOption(Schema.Struct({ turnId: Ids.TurnId, since: Schema.String }))

const sinceOf = ({ delayMs, retryAt }: TurnEvent.ProviderRetry): number => retryAt - delayMs

const bodyOf = ({ asks, event }: Question, redact: (text: string) => string, origin: string | undefined) => {
  const { conversationId, retryAt, turnId } = event
  const since = sinceOf(event)
  const message = Prose.clip(redact(asks.message), MOST_MESSAGE)
  const until = new Date(retryAt).toISOString()
  // The page's `shell/PageRoute.ts` reads the path. An id has no character that must be encoded.
  const url = origin === undefined ? undefined : `${origin}/#/c/${conversationId}`
  const orPage = url === undefined ? "" : `, or ${url}`
  return {
    id: `${TYPE}/${turnId}/${since}`,
    type: TYPE,
    conversationId,
    turnId,
    because: asks.because,
    since: new Date(since).toISOString(),
    until,
    message: Prose.plain(message),
    ...defined({ url }),
    text: Prose.oneLine(
      `A turn waits for a person. ${message} It takes an answer until ${until}: holdfast chat --conversation ${conversationId}${orPage}`
    )
  }
}
