/**
 * Runs one conversation over lines: commands in; responses and every event out (rule P16).
 *
 * RpcSession.S1. Lines are carried out and answered in their order: a command once it is on disk, `get_state` by the state after the commands
 *     before it.
 * RpcSession.S2. Lines are written whole, one write after the other. While the output is not taken, nothing is read beyond some
 *     `MOST_WAITING` lines, and the conversation's hub keeps the events, up to its limit.
 * RpcSession.S3. A session that falls behind that limit gets the events after its last one again from the disk (`EventFeed`).
 * RpcSession.S4. The end of the input ends the session: commands that were read are answered first, for `LAST_ANSWERS` at most. Turns stay on
 *     disk, unsealed.
 */
import { type Ids, LongJson } from "@holdfast/wire"
import { LineSplitter, RpcLines } from "@holdfast/wire/rpc"
import { type Cause, Duration, Effect, Fiber, Queue, Result, Semaphore, Stream } from "effect"
import { Conversations, type Frame } from "../conversation/Conversations.ts"
import * as Prose from "../text/Prose.ts"
import * as EventFeed from "./EventFeed.ts"
import * as RpcCommands from "./RpcCommands.ts"

/** The lines that wait for their response (RpcSession.S2). */
export const MOST_WAITING = 64

/** How long the answers to the last commands may take once the input has ended (RpcSession.S4). */
export const LAST_ANSWERS = Duration.seconds(5)

/** How long the reader may take for the last lines, after the end of the session. */
export const LAST_READ = Duration.seconds(5)

/** The origin in the record of a command (X4). */
const ORIGIN = "RPC"

/** The conversation, and the two ends of the session. */
export interface Options<E> {
  readonly conversationId: Ids.ConversationId
  /** The id of the last event that the client has; 0 for none. */
  readonly after: number
  readonly input: Stream.Stream<Uint8Array, E>
  /** Writes whole lines; returns once more may be written. */
  readonly write: (lines: string) => Effect.Effect<void>
}

/** Runs the session to the end of its input. Fails if the conversation is deleted, or the input fails. */
export const run = Effect.fnUntraced(function* <E>({ after, conversationId, input, write }: Options<E>) {
  const conversations = yield* Conversations
  const oneWrite = yield* Semaphore.make(1)
  let lastEventId = after

  /** RpcSession.S2. The lines are made when their time has come. */
  const send = (lines: Effect.Effect<string>) => oneWrite.withPermits(1)(Effect.flatMap(lines, write))
  const respond = (response: RpcLines.RpcResponse) => send(lineOf(response))

  const forward = (frames: ReadonlyArray<Frame>) =>
    send(
      Effect.sync(() => {
        lastEventId = frames.findLast(({ id }) => id !== undefined)?.id ?? lastEventId
        return frames.map(({ json }) => `${Prose.inJson(json)}\n`).join("")
      })
    )

  const events = EventFeed.run({
    watch: (after) => conversations.watch(conversationId, after),
    after: () => lastEventId,
    forward,
    onInterruption: (message) => Effect.logWarning(message)
  })

  const state = (command: RpcLines.RpcCommand) =>
    Effect.flatMap(RpcCommands.respond(command, stateOf(conversations, conversationId)), (response) =>
      send(Effect.suspend(() => lineOf(withPosition(response, lastEventId))))
    )

  // A queue, because the reader must not wait for the output: it would not receive the end of the input.
  const waiting = yield* Queue.bounded<Effect.Effect<void>, Cause.Done>(MOST_WAITING)
  const execute = (line: LineSplitter.Line): Effect.Effect<void> | undefined => {
    if (line._tag !== "Text") return respond(RpcLines.unreadable(UNREADABLE[line._tag]))
    if (line.text.trim() === "") return undefined
    const decoded = RpcLines.decode(line.text)
    if (Result.isFailure(decoded)) return respond(decoded.failure)
    const command = decoded.success
    return command.type === "get_state"
      ? state(command)
      : Effect.flatMap(RpcCommands.answer(conversations, conversationId, command, ORIGIN), respond)
  }
  const receive = (line: LineSplitter.Line): Effect.Effect<unknown> => {
    const execution = execute(line)
    return execution === undefined ? Effect.void : Queue.offer(waiting, execution)
  }

  const session = Effect.gen(function* () {
    const answers = yield* Effect.forkScoped(Stream.runForEach(Stream.fromQueue(waiting), (execution) => execution))
    const splitter = new LineSplitter.LineSplitter(LineSplitter.MOST_COMMAND_BYTES)
    yield* Stream.runForEach(input, (bytes) => Effect.forEach(splitter.push(bytes), receive, { discard: true }))
    const last = Effect.gen(function* () {
      yield* Effect.forEach(splitter.end(), receive, { discard: true })
      yield* Queue.end(waiting)
      yield* Fiber.join(answers)
    })
    yield* Effect.timeoutOption(last, LAST_ANSWERS) // RpcSession.S4
  })
  yield* Effect.raceFirst(events, session)
}, Effect.scoped)

// --- internal

const UNREADABLE = {
  TooLong: `The line is longer than ${LineSplitter.MOST_COMMAND_BYTES} bytes, and was not read.`,
  NotUtf8: "The line is not UTF-8, and was not read."
}

const lineOf = (response: RpcLines.RpcResponse): Effect.Effect<string> =>
  Effect.map(LongJson.stringify(response), (json) => `${Prose.inJson(json)}\n`)

const stateOf = (conversations: Conversations["Service"], conversationId: Ids.ConversationId) =>
  Effect.map(conversations.state(conversationId), (state) => ({ ...state, lastEventId: 0 }))

/** The position is that of the lines before the response, which is known when it is written. */
const withPosition = (response: RpcLines.RpcResponse, lastEventId: number): RpcLines.RpcResponse =>
  response.data !== undefined && "lastEventId" in response.data
    ? { ...response, data: { ...response.data, lastEventId } }
    : response
