/**
 * Serves the Agent Client Protocol over a pair of streams: one agent, any number of sessions.
 *
 * - A session is a conversation; its id is the conversation's, so any process can load it that reaches the service.
 * - Loading sends the history, then answers. Turns that have not ended continue without a prompt.
 * - The model of a session is an option of it, for prompts from then on.
 * - The end of the input ends the connection.
 */
import {
  agent,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type SessionConfigOption,
  type AnyMessage,
  type Stream
} from "@agentclientprotocol/sdk"
import type { Client, Conversation } from "@holdfast/client/effect"
import { Ids, JsonShape } from "@holdfast/wire"
import { Effect, Exit, Schema, type Scope } from "effect"
import * as AcpUpdates from "./AcpUpdates.ts"
import * as AcpSession from "./AcpSession.ts"
import { LineSplitter } from "@holdfast/wire/rpc"

/** What the agent runs with. */
export interface Options {
  readonly version: string
  readonly service: Client["Service"]
  /** What new sessions are opened with. */
  readonly opening: Parameters<Client["Service"]["createConversation"]>[0]
  /** The models that a session may be given. */
  readonly models: ReadonlyArray<string>
  readonly input: ReadableStream<Uint8Array>
  readonly output: WritableStream<Uint8Array>
}

/** Serves one client to the end of the input. */
export const run = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<void, never, Scope.Scope> {
  const { input, models, opening, output, service, version } = options
  const services = yield* Effect.context<Scope.Scope>()
  const sessions = new Map<string, AcpSession.AcpSession>()

  /** Runs an effect for a request, whose failure is the error of the response. */
  const answer = async <A>(effect: Effect.Effect<A, RequestError, Scope.Scope>): Promise<A> => {
    const exit = await Effect.runPromiseExitWith(services)(effect)
    if (Exit.isSuccess(exit)) return exit.value
    const failure = exit.cause.reasons.find((reason) => reason._tag === "Fail")
    throw failure?._tag === "Fail" ? failure.error : RequestError.internalError()
  }
  const configOptionsOf = ({ getState }: Conversation) =>
    Effect.map(AcpSession.refused(getState), ({ model }) => [optionOf(model, models)])
  const sessionOf = (sessionId: string): AcpSession.AcpSession => {
    const session = sessions.get(sessionId)
    if (session === undefined)
      throw new RequestError(NOT_FOUND, `There is no session ${sessionId} in this process. Load it first.`)
    return session
  }

  const { accepted, stream } = messagesOver(output, input)
  const connection = agent({ name: "holdfast" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: true, embeddedContext: true }
      },
      agentInfo: { name: "holdfast", title: "Holdfast", version },
      authMethods: []
    }))
    .onRequest(methods.agent.session.new, ({ client, params }) =>
      answer(
        Effect.gen(function* () {
          yield* warnOfServers(params.mcpServers)
          const conversation = yield* AcpSession.refused(service.createConversation(opening))
          sessions.set(conversation.id, yield* AcpSession.open(conversation, client))
          return { sessionId: conversation.id, configOptions: yield* configOptionsOf(conversation) }
        })
      )
    )
    .onRequest(methods.agent.session.load, ({ client, params }) =>
      answer(
        Effect.gen(function* () {
          yield* warnOfServers(params.mcpServers)
          const conversation = service.conversation(yield* AcpSession.refused(decodeId(params.sessionId)))
          const session = sessions.get(conversation.id) ?? (yield* AcpSession.open(conversation, client))
          sessions.set(conversation.id, session)
          yield* session.isReplayed
          return { configOptions: yield* configOptionsOf(conversation) }
        })
      )
    )
    .onRequest(methods.agent.session.setConfigOption, ({ params: { configId, sessionId, value } }) => {
      const { conversation } = sessionOf(sessionId)
      if (configId !== MODEL || typeof value !== "string")
        throw new RequestError(
          INVALID,
          `There is no option ${JSON.stringify(configId)} with this value. Expected "model".`
        )
      return answer(
        Effect.gen(function* () {
          yield* AcpSession.refused(conversation.setModel(value))
          return { configOptions: yield* configOptionsOf(conversation) }
        })
      )
    })
    .onRequest(methods.agent.session.prompt, ({ params, requestId, signal }) => {
      const session = sessionOf(params.sessionId)
      const prompt = AcpUpdates.promptOf(params.prompt)
      if (prompt === undefined) throw new RequestError(INVALID, "The prompt is empty, or has a file that is not valid.")
      signal.addEventListener("abort", () => void answer(session.cancel), { once: true })
      const isAccepted = Effect.sync(() => accepted(requestId))
      return answer(Effect.map(session.prompt(prompt, isAccepted), (stopReason) => ({ stopReason })))
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => answer(sessionOf(params.sessionId).cancel))
    .connect(stream)
  yield* Effect.addFinalizer(() => Effect.sync(() => connection.close()))
  yield* Effect.promise(() => connection.closed)
})

/** The id of the option. */
const MODEL = "model"

/** The option, with the session's model and those to choose from. */
const optionOf = (current: string, named: ReadonlyArray<string>): SessionConfigOption => ({
  type: "select",
  id: MODEL,
  name: "Model",
  category: "model",
  currentValue: current,
  options: Array.from(new Set([current, ...named]), (name) => ({ value: name, name }))
})

// Reads and writes the messages of the protocol as lines, in the order of the client.
//
// The library begins all that it reads at once. So a request is read once the one before it is answered, or accepted, if it is a prompt.
// A line that cannot be read (no JSON, too long, too deep, too many values) is answered with an error, and the next one is read.

/** The most bytes of a line: prompts have files. */
const MOST_BYTES = 32 * 1024 * 1024

/** The messages of one client over two streams of bytes. */
const messagesOver = (output: WritableStream<Uint8Array>, input: ReadableStream<Uint8Array>) => {
  const encoder = new TextEncoder()
  const writer = output.getWriter()
  let held: { readonly id: unknown; readonly release: () => void } | undefined
  /** The request has taken effect, though its answer is to come: the next one is read. */
  const accepted = (id: unknown): void => {
    // The answer to what is no request has no id.
    if (held !== undefined && (id === held.id || id === null)) held.release()
  }
  const write = async (message: AnyMessage): Promise<void> => {
    if (!("method" in message)) accepted(message.id)
    await writer.write(encoder.encode(`${JSON.stringify(message)}\n`))
  }

  async function* read(line: LineSplitter.SplitLine): AsyncGenerator<AnyMessage> {
    const message = messageOf(line)
    if (message === undefined) return
    if (message instanceof RequestError)
      return await write({ jsonrpc: "2.0", id: null, error: message.toErrorResponse() })
    if (!("method" in message)) return yield message
    if (!("id" in message)) {
      yield message
      // The library begins it before the event loop goes on.
      return await new Promise<void>((resolve) => void setImmediate(resolve))
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    held = { id: message.id, release: resolve }
    yield message
    await promise
  }
  async function* messages(): AsyncGenerator<AnyMessage> {
    const lines = new LineSplitter.LineSplitter(MOST_BYTES)
    for await (const bytes of input) for (const line of lines.push(bytes)) yield* read(line)
    for (const line of lines.end()) yield* read(line)
  }
  const stream: Stream = { readable: ReadableStream.from(messages()), writable: new WritableStream({ write }) }
  return { stream, accepted }
}

// --- internal

/** JSON-RPC: wrong parameters; ACP: an unknown session. */
const INVALID = -32602
const NOT_FOUND = -32002

const decodeId = (sessionId: string) =>
  Effect.mapError(Schema.decodeUnknownEffect(Ids.ConversationId)(sessionId), () => ({
    message: `There is no session ${JSON.stringify(sessionId.slice(0, 80))}.`
  }))

/** The tools of a service are configured by its operator. */
const warnOfServers = (servers: ReadonlyArray<{ readonly name: string }>) =>
  servers.length === 0
    ? Effect.void
    : Effect.logWarning(
        `The client's tool servers are not used: ${servers.map(({ name }) => name).join(", ")}. Tool servers are in the configuration (tools).`
      )

/** The message of a line, the error that answers it, or nothing for an empty line. */
const messageOf = (line: LineSplitter.SplitLine): AnyMessage | RequestError | undefined => {
  if (line._tag === "TooLong") return invalid(`The line is longer than ${MOST_BYTES} bytes, and was not read.`)
  if (line._tag === "NotUtf8") return new RequestError(PARSE, "The line is not UTF-8, and was not read.")
  if (line.text.trim() === "") return undefined
  const excess = JsonShape.excessOf(line.text)
  if (excess !== undefined) return invalid(`The line has ${excess}, and was not read.`)
  const message = JsonShape.parse(line.text)
  if (message === undefined) return new RequestError(PARSE, "The line is no JSON, and was not read.")
  return typeof message === "object" && message !== null && !Array.isArray(message)
    ? // The library checks the rest, and answers what is wrong.
      (message as unknown as AnyMessage)
    : invalid("The line is no JSON object. Expected one message a line.")
}

/** JSON-RPC: no JSON, and no request. */
const PARSE = -32700
const NO_REQUEST = -32600

const invalid = (message: string): RequestError => new RequestError(NO_REQUEST, message)
