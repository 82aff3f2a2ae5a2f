/**
 * Serves the Agent Client Protocol over a pair of streams: one agent, any number of sessions.
 *
 * - A session is a conversation; its id is the conversation's, so any process can load it that reaches the service.
 * - Loading sends the history, then answers. Turns that have not ended continue without a prompt.
 * - The model of a session is an option of it, for prompts from then on.
 * - The end of the input ends the connection.
 */
import { agent, methods, PROTOCOL_VERSION, RequestError, type SessionConfigOption } from "@agentclientprotocol/sdk"
import type { Client, Conversation } from "@holdfast/client/effect"
import { Ids } from "@holdfast/wire"
import { Effect, Exit, Schema, type Scope } from "effect"
import * as AcpUpdates from "./AcpUpdates.ts"
import * as AcpSession from "./AcpSession.ts"
import * as AcpStream from "./AcpStream.ts"

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

  const { accepted, stream } = AcpStream.make(output, input)
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
