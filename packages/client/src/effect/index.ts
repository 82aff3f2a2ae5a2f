/**
 * The client as Effects and Streams. The calls are those of `HoldfastClient`.
 *
 * The interruption of a call or a stream ends its request or connection; the turn runs on. Every failure is a `ClientError`. Any other
 * rejection is a bug of the client, and a defect.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Prompt } from "@holdfast/wire"
import type { BulkCommands, DryRunGroup, SchedulePreview, WorkGroup } from "@holdfast/wire/api"
import { ClientError } from "../ClientError.ts"
import * as CommandMethods from "../CommandMethods.ts"
import type {
  Conversation as PromiseConversation,
  EventOptions,
  RunOptions,
  SteerOptions,
  TurnOptions
} from "../Conversation.ts"
import type { StreamOptions } from "../EventStream.ts"
import {
  type ClientOptions,
  type ConversationFilter,
  type ConversationOptions,
  HoldfastClient,
  type ReportOptions,
  type SubmitOptions,
  type TurnFilter
} from "../HoldfastClient.ts"
import type { ConversationCommand } from "../transport/ServiceTransport.ts"
import type { Turn as PromiseTurn } from "../Turn.ts"

/** A call of the service. */
export type Call<A> = Effect.Effect<A, ClientError>

/** Options without a signal: an interruption is one. */
type Plain<Options> = Omit<Options, "signal">

/** A turn of the service. */
export type Turn = ReturnType<typeof turnOf>

interface Calls extends CommandMethods.Shape {
  readonly abort: readonly [object, Call<void>]
  readonly setting: readonly [Readonly<Record<string, never>>, Call<void>]
  readonly steering: readonly [Plain<SteerOptions>, Call<void>]
}

/** A conversation of the service. */
export type Conversation = ReturnType<typeof conversationOf>

/**
 * A client of one service.
 *
 * **Example** (A turn through an outage)
 *
 * ```ts
 * const program = Effect.gen(function* () {
 *   const client = yield* Client
 *   const conversation = yield* client.createConversation()
 *   const turn = yield* conversation.prompt("Are you there?")
 *   yield* Stream.runForEach(turn.events(), (event) => Console.log(event.type))
 *   return yield* turn.result
 * }).pipe(Effect.provide(layer({ url: "http://127.0.0.1:4747" })))
 * ```
 */
export class Client extends Context.Service<Client, ReturnType<typeof of>>()("@holdfast/client/Client") {}

/** Makes a client, which is closed with its scope. */
export const make = (options?: ClientOptions): Effect.Effect<Client["Service"], never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new HoldfastClient(options)),
      (client) => Effect.sync(() => client.close())
    ),
    of
  )

/** The client of a service, as a layer. */
export const layer = (options?: ClientOptions): Layer.Layer<Client> => Layer.effect(Client, make(options))

// --- internal

const refusal = (error: unknown): ClientError => {
  if (error instanceof ClientError) return error
  throw error
}

const call = <A>(make: (options: { readonly signal: AbortSignal }) => Promise<A>): Call<A> =>
  Effect.tryPromise({ try: (signal) => make({ signal }), catch: refusal })

const stream = <A>(
  make: (options: { readonly signal: AbortSignal }) => AsyncIterable<A>
): Stream.Stream<A, ClientError> =>
  Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => new AbortController()),
        (controller) => Effect.sync(() => controller.abort())
      ),
      ({ signal }) => Stream.fromAsyncIterable(make({ signal }), refusal)
    )
  )

const turnOf = (turn: PromiseTurn) => ({
  id: turn.id,
  /** Absent where only the turn's id is known. */
  conversationId: turn.conversationId,
  /** Of a turn that was submitted: false where the same turn was submitted before. */
  isNew: turn.isNew,
  /** Its events from the first one to `turn-end`, whenever the stream begins. */
  events: (options?: Plain<StreamOptions>) => stream((own) => turn.events({ ...options, ...own })),
  /** Its end, after all its retries. A turn that fails is a result too. */
  result: call((own) => turn.result(own)),
  getState: call((own) => turn.getState(own)),
  explain: call((own) => turn.explain(own)),
  abort: call((own) => turn.abort(own))
})

const begun = (make: (options: { readonly signal: AbortSignal }) => Promise<PromiseTurn>): Call<Turn> =>
  Effect.map(call(make), turnOf)

/** The methods that send one command each. */
class Sending extends CommandMethods.base<Calls>() {
  readonly #conversation: PromiseConversation

  constructor(conversation: PromiseConversation) {
    super()
    this.#conversation = conversation
  }

  [CommandMethods.deliver](
    command: CommandMethods.SentLine,
    options: Plain<SteerOptions>,
    kind: keyof Calls
  ): Call<void> {
    return call((own) => this.#conversation[CommandMethods.deliver](command, { ...options, ...own }, kind))
  }
}

const conversationOf = (conversation: PromiseConversation) =>
  Object.assign(new Sending(conversation), {
    id: conversation.id,
    prompt: (prompt: Prompt.Prompt, options?: Plain<TurnOptions>) =>
      begun((own) => conversation.prompt(prompt, { ...options, ...own })),
    /** Runs a turn and streams it by one call. */
    run: (prompt: Prompt.Prompt, options?: Plain<RunOptions>) =>
      stream((own) => conversation.run(prompt, { ...options, ...own })),
    retry: (options?: { readonly turnId?: string }) => begun((own) => conversation.retry({ ...options, ...own })),
    /** Sends a command by its name in `holdfast rpc`. Over a WebSocket it succeeds with the data of the response. */
    command: (command: ConversationCommand) => call(({ signal }) => conversation.command(command, signal)),
    /** A turn of this conversation, by its id. */
    turn: (turnId: string) => turnOf(conversation.turn(turnId)),
    /** Its events from the first one, or behind `after`, and then live ones without end. */
    events: (options?: Plain<EventOptions>) => stream((own) => conversation.events({ ...options, ...own })),
    /** What a screen shows, after each change. */
    views: (options?: Plain<StreamOptions>) => stream((own) => conversation.events({ ...options, ...own }).views()),
    getState: call((own) => conversation.getState(own)),
    getMessages: call((own) => conversation.getMessages(own)),
    setTitle: (title: string) => call((own) => conversation.setTitle(title, own)),
    delete: call((own) => conversation.delete(own))
  })

const of = (client: HoldfastClient) => ({
  createConversation: (options?: Plain<ConversationOptions>) =>
    call((own) => client.createConversation({ ...options, ...own })).pipe(Effect.map(conversationOf)),
  conversation: (id: string) => conversationOf(client.conversation(id)),
  submit: (prompt: Prompt.Prompt, options?: Plain<SubmitOptions>) =>
    begun((own) => client.submit(prompt, { ...options, ...own })),
  turn: (id: string) => turnOf(client.turn(id)),
  listTurns: (filter?: Plain<TurnFilter>) => stream((own) => client.listTurns({ ...filter, ...own })),
  listConversations: (filter?: Plain<ConversationFilter>) =>
    stream((own) => client.listConversations({ ...filter, ...own })),
  commandTurns: (request: Omit<BulkCommands.RunBulk, "cursor">) => stream((own) => client.commandTurns(request, own)),
  readCourses: (turnIds: ReadonlyArray<string>) => call((own) => client.readCourses(turnIds, own)),
  report: (options?: Plain<ReportOptions>) => call((own) => client.report({ ...options, ...own })),
  schedule: (body?: SchedulePreview.PreviewSchedule) => call((own) => client.schedule(body, own)),
  raiseLimit: (body: WorkGroup.RaiseLimit) => call((own) => client.raiseLimit(body, own)),
  dryRun: (body: DryRunGroup.RunDryRun) => call((own) => client.dryRun(body, own)),
  health: call((own) => client.health(own)),
  configuration: call((own) => client.configuration(own))
})
