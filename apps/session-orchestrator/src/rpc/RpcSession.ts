/**
 * Runs one conversation over lines: commands in; responses and every event out (rule P16).
 *
 * The service carries the commands out, in this process or in another; a client of it is the `Service` here.
 *
 * RpcSession.S1. Lines are carried out and answered in their order: a command once it is on disk, `get_state` by the state after the commands
 *     before it.
 * RpcSession.S2. Lines are written whole, one write after the other. While the output is not taken, nothing is read beyond some
 *     `MOST_WAITING` lines. A session that falls behind gets the events after its last one again from the disk.
 * RpcSession.S4. The end of the input ends the session: commands that were read are answered first, for `LAST_ANSWERS` at most. Turns stay on
 *     disk, unsealed.
 */
import { LongJson } from "@holdfast/wire"
import { LineSplitter, RpcLines } from "@holdfast/wire/rpc"
import { type Cause, Duration, Effect, Fiber, Queue, Result, Semaphore, Stream } from "effect"
import * as Prose from "../base/text/Prose.ts"

/** The lines that wait for their response (RpcSession.S2). */
export const MOST_WAITING = 64

/** How long the answers to the last commands may take once the input has ended (RpcSession.S4). */
export const LAST_ANSWERS = Duration.seconds(5)

/** How long the reader may take for the last lines, after the end of the session. */
export const LAST_READ = Duration.seconds(5)

/** An event as it is written. */
interface Frame {
  readonly json: string
  /** The event's place in the conversation; persisted events only. */
  readonly id: number | undefined
}

/** The service, for one conversation. */
export interface ConversationService<E> {
  /** Carries a command out. Never fails: a refusal is a response. */
  readonly answer: (command: RpcLines.RpcCommand) => Effect.Effect<RpcLines.RpcResponse>
  /** Passes on the events after an id, without end. Fails where the conversation is deleted, or the service is gone. */
  readonly feed: (
    after: () => number,
    forward: (frames: ReadonlyArray<Frame>) => Effect.Effect<void>
  ) => Effect.Effect<void, E>
}

/** The conversation, and the two ends of the session. */
export interface Options<E, E2> {
  readonly service: ConversationService<E2>
  /** The id of the last event that the client has; 0 for none. */
  readonly after: number
  readonly input: Stream.Stream<Uint8Array, E>
  /** Writes whole lines; returns once more may be written. */
  readonly write: (lines: string) => Effect.Effect<void>
}

/** Runs the session to the end of its input. Fails if the events or the input fail. */
export const run = Effect.fnUntraced(function* <E, E2>({ after, input, service, write }: Options<E, E2>) {
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

  const events = service.feed(() => lastEventId, forward)

  // A queue, because the reader must not wait for the output: it would not receive the end of the input.
  const waiting = yield* Queue.bounded<Effect.Effect<void>, Cause.Done>(MOST_WAITING)
  const execute = (line: LineSplitter.SplitLine): Effect.Effect<void> | undefined => {
    if (line._tag !== "Text") return respond(RpcLines.unreadable(UNREADABLE[line._tag]))
    if (line.text.trim() === "") return undefined
    const decoded = RpcLines.decode(line.text)
    if (Result.isFailure(decoded)) return respond(decoded.failure)
    return Effect.flatMap(service.answer(decoded.success), (response) =>
      send(Effect.suspend(() => lineOf(withPosition(response, lastEventId))))
    )
  }
  const receive = (line: LineSplitter.SplitLine): Effect.Effect<unknown> => {
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

/** The position is that of the lines before the response, which is known when it is written. */
const withPosition = (response: RpcLines.RpcResponse, lastEventId: number): RpcLines.RpcResponse =>
  response.data !== undefined && "lastEventId" in response.data
    ? { ...response, data: { ...response.data, lastEventId } }
    : response
