/** Runs a session of `holdfast rpc` over conversations in memory and a test clock. */
import { assert } from "@effect/vitest"
import type { ScriptedProvider } from "@holdfast/kernel/testing"
import type { TurnEvent } from "@holdfast/wire"
import { type Ids } from "@holdfast/wire"
import { RpcLines } from "@holdfast/wire/rpc"
import { Array as Arr, type Cause, Effect, Fiber, Queue, Schema, Stream } from "effect"
import { type ConversationNotFound, Conversations } from "../../src/engine/conversation/Conversations.ts"
import * as SocketCommands from "../../src/http/socket/SocketCommands.ts"
import * as Subscriptions from "../../src/http/socket/Subscriptions.ts"
import * as RpcSession from "../../src/rpc/RpcSession.ts"
import { type Options, withService } from "../engine/conversation/ConversationSetup.ts"
import type * as It from "../It.ts"

const isOutput = Schema.is(RpcLines.RpcOutput)

/** A client, and the session's side of its pipes. */
export interface GivenSession {
  readonly conversations: Conversations["Service"]
  readonly conversationId: Ids.ConversationId
  readonly provider: ReturnType<typeof ScriptedProvider.make>
  /** Sends text as it is. */
  readonly sendText: (text: string) => Effect.Effect<void>
  /** Sends a command, and returns its response. */
  readonly ask: (command: {
    readonly type: string
    readonly [key: string]: unknown
  }) => Effect.Effect<RpcLines.RpcResponse>
  /** Waits until so many events of a type were written. */
  readonly until: (type: TurnEvent.TurnEvent["type"], count?: number) => Effect.Effect<void>
  /** Waits until so many responses were written. */
  readonly responded: (count: number) => Effect.Effect<ReadonlyArray<RpcLines.RpcResponse>>
  readonly lines: () => ReadonlyArray<string>
  readonly events: () => ReadonlyArray<TurnEvent.TurnEvent>
  /** Ends the input, and waits for the end of the session. */
  readonly close: Effect.Effect<void>
  /** How many texts of the client the session has not taken. */
  readonly unread: () => number
  /** How often the conversation was watched. */
  readonly watches: () => number
  /** The output is taken; a test may stop that. */
  readonly pipe: { isTaken: boolean }
}

/** Runs a test against a session. */
export const withSession = (options: Options & { readonly after?: number }, test: It.Body<[GivenSession]>) =>
  withService(options, function* ({ conversations, provider }) {
    const conversationId = yield* conversations.create({})
    const input = yield* Queue.unbounded<Uint8Array, Cause.Done>()
    const written: Array<string> = []
    const pipe = { isTaken: true }
    const taken = Effect.repeat(Effect.yieldNow, { until: () => pipe.isTaken })
    let watches = 0
    const counted = Conversations.of({
      ...conversations,
      watch: (...from) => (watches++, conversations.watch(...from))
    })
    const session = yield* RpcSession.run({
      service: serviceOf(counted, conversationId),
      after: options.after ?? 0,
      // One text at a time: what the session has not taken stays in the queue.
      input: Stream.fromPull(Effect.succeed(Effect.map(Queue.take(input), Arr.of))),
      write: (lines) =>
        Effect.andThen(
          Effect.sync(() => void written.push(lines)),
          Effect.asVoid(taken)
        )
    }).pipe(Effect.forkScoped({ startImmediately: true }))

    const lines = () => written.flatMap((lines) => lines.split("\n").slice(0, -1))
    const parsed: Array<RpcLines.RpcOutput> = []
    const outputs = (): ReadonlyArray<RpcLines.RpcOutput> => {
      for (const line of lines().slice(parsed.length)) {
        const output: unknown = JSON.parse(line)
        if (!isOutput(output)) assert.fail(`${line} is no line of the protocol`)
        parsed.push(output)
      }
      return parsed
    }
    const responses = () => outputs().filter((output) => output.type === "response")
    const events = () => outputs().filter((output) => output.type !== "response")
    const waitFor = (isThere: () => boolean) => Effect.asVoid(Effect.repeat(Effect.yieldNow, { until: isThere }))
    const sendText = (text: string) => Effect.asVoid(Queue.offer(input, new TextEncoder().encode(text)))
    let asked = 0
    const given: GivenSession = {
      conversations,
      conversationId,
      provider,
      sendText,
      ask: (command) =>
        Effect.gen(function* () {
          const id = `q${++asked}`
          yield* sendText(`${JSON.stringify({ id, ...command })}\n`)
          const found = () => responses().find((response) => response.id === id)
          yield* waitFor(() => found() !== undefined)
          const { id: _, ...response } = found() ?? assert.fail(`no response to ${id}`)
          return response
        }),
      until: (type, count = 1) => waitFor(() => events().filter((event) => event.type === type).length >= count),
      responded: (count) =>
        Effect.map(
          waitFor(() => responses().length >= count),
          responses
        ),
      lines,
      events,
      close: Effect.andThen(Queue.end(input), Effect.orDie(Fiber.join(session))),
      unread: () => Queue.sizeUnsafe(input),
      watches: () => watches,
      pipe
    }
    yield* Effect.gen(() => test(given))
  })

// --- internal

/** The conversation in this process, as the service carries out the commands of its transports. */
const serviceOf = (
  conversations: Conversations["Service"],
  conversationId: Ids.ConversationId
): RpcSession.ConversationService<ConversationNotFound> => ({
  answer: (command) =>
    command.type === "get_state"
      ? SocketCommands.respond(
          command,
          Effect.map(conversations.state(conversationId), (state) => ({ ...state, lastEventId: 0 }))
        )
      : SocketCommands.respond(command, SocketCommands.run(conversations, { ...command, conversationId }, "a test")),
  feed: (after, forward) =>
    Subscriptions.feed({ watch: (from) => conversations.watch(conversationId, from), after, forward })
})
