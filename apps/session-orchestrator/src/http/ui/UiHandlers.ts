/**
 * Handles the calls of `useChat` (AI SDK): each message of a user is a turn, and its answer is a UI message stream.
 *
 * - The chat's id is the conversation's. The first message opens it; two first messages at once open one conversation. A later one with a
 *   model changes the conversation's.
 * - The history is the service's: of a request the last message is read. A message that was changed after it had been sent is refused,
 *   because the model would answer to another history than the page shows.
 * - `regenerate-message` is rule M1's retry. Where the message never arrived, it is sent; where its turn has not ended, it is watched.
 * - A stream that is resumed is that of the chat's turn from its beginning, also where it has ended: the page may have been away at its
 *   end. The AI SDK puts it in the place of what it had of the message, which has the same id.
 */
import { Ids, Prompt, Quote, Sse } from "@holdfast/wire"
import { Api, Problem, UiMessagesGroup } from "@holdfast/wire/api"
import { Array as Arr, Effect, Result, Schema, SchemaIssue, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { createHash } from "node:crypto"
import { Conversations, type Frame, TurnConflict } from "../../engine/conversation/Conversations.ts"
import { orProblem } from "../../engine/conversation/DomainProblems.ts"
import { StoredTurns } from "../../insight/inspection/StoredTurns.ts"
import * as LiveResponse from "../body/LiveResponse.ts"
import * as CommandContext from "../CommandContext.ts"
import * as UiMessageParts from "@holdfast/ai-sdk/parts"
import { Push } from "@holdfast/kernel/host"

/** The handlers of the `chat` group. */
export const layer = HttpApiBuilder.group(
  Api.Api,
  "chat",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* Conversations
    const states = yield* StoredTurns
    const gates = yield* CommandContext.gates
    const { checkFiles, unlessDown, unlessGoingDown } = gates

    const opened = ({ id, model, retry, system, title, tools }: UiMessagesGroup.SendUiMessages) => {
      const known =
        model === undefined
          ? conversations.state(id)
          : conversations.change({ type: "set-model", conversationId: id, model }, { ifOther: true })
      return Effect.catchTag(Effect.asVoid(known), "ConversationNotFound", () =>
        conversations
          .create({ conversationId: id, model, retry, system, title, tools })
          .pipe(Effect.catchTag("StorageError", (error) => Effect.mapError(known, () => error)))
      )
    }

    const prompted = (id: Ids.ConversationId, asked: Asked) =>
      Effect.catchTag(conversations.prompt(id, asked), "TurnConflict", () => Effect.fail(new TurnConflict(CHANGED)))

    const regenerated = Effect.fnUntraced(function* (id: Ids.ConversationId, asked: Asked) {
      const { turnId } = yield* conversations.state(id)
      if (turnId !== undefined) return turnId
      const messages = yield* conversations.messages(id)
      const last = messages.findLast((message) => message.role === "user" && message.synthetic !== true)
      const isKnown = yield* Effect.match(states.conversationOf(asked.turnId), {
        onSuccess: () => true,
        onFailure: () => false
      })
      if (!isKnown) return yield* prompted(id, asked)
      if (last?.turnId !== asked.turnId) return yield* new TurnConflict(EARLIER)
      return yield* conversations.retry(id, {})
    })

    const stream = (request: HttpServerRequest.HttpServerRequest, turnId: Ids.TurnId, within: Ids.ConversationId) =>
      LiveResponse.send(request, gates, {
        ...format,
        items: ofTurn(conversations.watchTurn(turnId, within))
      })

    return handlers.handleAll({
      send: Effect.fnUntraced(function* ({ payload, request }) {
        const read = asked(payload)
        if (Result.isFailure(read)) return yield* new Problem.InvalidRequest({ detail: read.failure })
        yield* checkFiles(read.success.prompt)
        const accept = payload.trigger === "regenerate-message" ? regenerated : prompted
        const turnId = yield* Effect.andThen(unlessGoingDown, opened(payload)).pipe(
          Effect.andThen(accept(payload.id, read.success)),
          orProblem
        )
        return yield* stream(request, turnId, payload.id)
      }),

      resume: ({ params: { chatId }, request }) =>
        conversations.state(chatId).pipe(
          Effect.flatMap(({ turnId }) => (turnId === undefined ? states.newestOf(chatId) : Effect.succeed(turnId))),
          Effect.catchTag("ConversationNotFound", () => Effect.undefined),
          orProblem,
          Effect.flatMap((turnId) =>
            turnId === undefined
              ? Effect.succeed(HttpServerResponse.empty({ status: 204 }))
              : stream(request, turnId, chatId)
          )
        ),
      stop: ({ params: { chatId } }) => orProblem(conversations.abort(chatId)).pipe(unlessDown, Effect.asVoid)
    })
  })
)

/** What the user's last message asks for. */
interface Asked {
  readonly turnId: Ids.TurnId
  readonly prompt: Prompt.Prompt
}

/**
 * Reads the last message, which must be the user's: its prompt, and the id of its turn. That follows from the ids of chat and message, so the same
 * message sent again is the same turn. Fails with what was wrong.
 */
export const asked = ({ id, messages }: UiMessagesGroup.SendUiMessages): Result.Result<Asked, string> => {
  const last = messages.at(-1)
  if (last === undefined) return Result.fail('"messages" is empty. Expected the message of the user as its last one.')
  if (last.role !== "user") {
    return Result.fail(
      `The last of "messages" has the role ${Quote.of(last.role)}. Expected "user": tools run in the service, and a page answers none.`
    )
  }
  const parts: Array<unknown> = []
  for (const part of last.parts) {
    const read = partOf(part)
    if (Result.isFailure(read)) return Result.fail(read.failure)
    if (read.success !== undefined) parts.push(read.success)
  }
  const decoded = decode(parts)
  return Result.isSuccess(decoded)
    ? Result.succeed({ turnId: turnIdOf(id, last.id), prompt: Prompt.plain(decoded.success) })
    : Result.fail(`The last of "messages" is no prompt: ${formatted(decoded.failure.issue)}`)
}

// --- internal

const CHANGED = {
  message:
    "This message was sent before with another text. The service keeps the history and does not change it: send it as a new message, or begin a new chat."
}

const EARLIER = {
  message: "Only the last message can be answered again: the service keeps the history and does not change it."
}

/** How such a stream is sent. A stream that breaks off is cut, and `useChat` takes that for a disconnect. */
const format = {
  contentType: Sse.CONTENT_TYPE,
  headers: UiMessagesGroup.STREAM_HEADER,
  keepAlive: Sse.KEEP_ALIVE,
  endless: false,
  encode: (texts: ReadonlyArray<string>) => texts.join("")
} as const

/** The stream of one turn, from its first event to its `turn-end`. Events that are pushed (`Push`) stay pushed: text costs no fiber here. */
const ofTurn = <E>(frames: Stream.Stream<Frame, E>): Stream.Stream<string, E> =>
  Stream.transformPull(frames, (pull) =>
    Effect.sync(() => {
      let state = UiMessageParts.initial
      return Push.filterMap(pull, (chunk): Arr.NonEmptyReadonlyArray<string> | undefined => {
        const all: Array<string> = []
        for (const { event } of chunk) {
          const [after, parts] = UiMessageParts.next(state, event)
          state = after
          for (const part of parts) all.push(Sse.frame(JSON.stringify(part)))
          if (event.type === "turn-end") all.push(DONE)
        }
        return Arr.isReadonlyArrayNonEmpty(all) ? all : undefined
      })
    })
  )

/** The last frame, by which the AI SDK knows the end. */
const DONE = Sse.frame("[DONE]")

const turnIdOf = (chatId: string, messageId: string): Ids.TurnId =>
  Ids.TurnId.make(
    `chat-${createHash("sha256")
      .update(JSON.stringify([chatId, messageId]))
      .digest("hex")
      .slice(0, 40)}`
  )

const decode = Schema.decodeUnknownResult(Prompt.Prompt, { onExcessProperty: "error" })

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const formatted = (issue: SchemaIssue.Issue): string => {
  const { message, path = [] } = formatIssues(issue).issues[0] ?? { message: "it is not valid" }
  const where = path.map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")
  return where === "" ? `${message}.` : `part ${where}: ${message}.`
}

/** A part as a prompt has it; `undefined` for parts that are no input, such as data of the page. */
const partOf = (part: UiMessagesGroup.UiMessage["parts"][number]): Result.Result<object | undefined, string> => {
  const { filename, mediaType, text, type, url } = part
  if (type === "text") return Result.succeed(text === "" ? undefined : { type, text })
  if (type !== "file") return Result.succeed(undefined)
  const described = { type, mediaType: typed(mediaType), ...(filename === undefined ? undefined : { name: filename }) }
  if (typeof url !== "string" || !url.startsWith("data:")) return Result.succeed({ ...described, url })
  const comma = url.indexOf(",")
  if (comma < 0) return Result.fail("A file has an address of the scheme data: without data.")
  const data = url.slice(comma + 1)
  if (/^[^,]*;base64,/i.test(url)) return Result.succeed({ ...described, data })
  try {
    return Result.succeed({ ...described, data: Buffer.from(decodeURIComponent(data)).toString("base64") })
  } catch {
    return Result.fail("A file has an address of the scheme data: that cannot be decoded.")
  }
}

/** Browsers add parameters, such as a charset. */
const typed = (mediaType: unknown): unknown =>
  typeof mediaType === "string" ? mediaType.replace(/;.*/s, "").trim().toLowerCase() : mediaType
