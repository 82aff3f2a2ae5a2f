/**
 * Runs one WebSocket: commands in; responses and events of many conversations out (`SocketMessages`).
 *
 * The end of a socket ends no turn. Commands that were read have `LAST_ANSWERS` to take effect. A client that sends nothing for
 * `SILENCE_LIMIT`, not even the answer to a ping, is gone.
 *
 * SocketSession.S1. Commands of one conversation are carried out in their order, `get_state` among them. A message that is refused waits for none.
 * SocketSession.S2. While the client does not take what is sent, at most `MOST_WAITING` commands are under way, each subscription holds one page of
 *     events, and the hubs keep the rest, up to their limit.
 * SocketSession.S5. A shutdown refuses the commands that are not on disk, and sends `reconnect` as the last message.
 */
import { SocketMessages } from "@holdfast/wire/rpc"
import { Clock, Duration, Effect, FiberSet, Result, Semaphore, Stream } from "effect"
import { LAST_ANSWERS, MOST_WAITING } from "../../rpc/RpcSession.ts"
import { FAREWELL_LIMIT, GOING_DOWN } from "../body/LiveResponse.ts"
import * as SocketCommands from "./SocketCommands.ts"
import type { Outlet } from "../../rpc/Outlet.ts"
import * as EventStreams from "../EventStreams.ts"
import { Subscriptions } from "./Subscriptions.ts"

/** Pings that a client may leave unanswered. */
const MOST_SILENT = 4

/** How long a client may send nothing. */
export const SILENCE_LIMIT = Duration.millis(MOST_SILENT * SocketMessages.KEEP_ALIVE_MS)

/** The two ends of a socket. */
interface Options<E> {
  /** Ends, or fails, when the socket closes. */
  readonly input: Stream.Stream<string | Uint8Array, E>
  readonly output: Outlet
  /** The bytes that were read so far; `undefined` while the service does not read. */
  readonly received: () => number | undefined
  /** Ends the connection at once. */
  readonly destroyed: Effect.Effect<void>
  /** The origin in the record of a command (rule X4). */
  readonly origin: string
}

/** Runs the session to the end of its input, or of the service. Returns whether the service ended it. Its subscriptions end with the scope. */
export const run = Effect.fnUntraced(function* <E>(services: SocketCommands.SocketServices, options: Options<E>) {
  const { destroyed, input, origin, output, received } = options
  const { drain } = services.gates
  const order = yield* commandOrder(MOST_WAITING)
  const subscriptions = new Subscriptions(services.conversations, output, yield* Effect.scope)
  const send = (message: SocketMessages.SocketMessage): Effect.Effect<void> =>
    Effect.suspend(() => output.send(frameOf(message)))
  const execution = SocketCommands.make(services, { subscriptions, send, origin })

  const receive = (message: string | Uint8Array): Effect.Effect<void> => {
    if (typeof message !== "string") return send(SocketMessages.unreadable(BINARY))
    const decoded = SocketMessages.decode(message)
    if (Result.isFailure(decoded)) return send(decoded.failure)
    const { effect, key } = execution(decoded.success)
    return order.accept(key, effect)
  }

  const signsOfLife = Effect.gen(function* () {
    let last: number | undefined
    for (let silent = 0; silent < MOST_SILENT; silent++) {
      const now = yield* Clock.currentTimeMillis
      // A client that has not taken the last ones gets no more of them.
      if (output.isFree) {
        yield* output.send(Buffer.concat([frameOf({ type: "keep-alive", now }), EventStreams.PING]))
      }
      yield* Effect.sleep(Duration.millis(SocketMessages.KEEP_ALIVE_MS))
      const bytes = received()
      if (bytes === undefined || bytes !== last) silent = -1
      last = bytes
    }
    yield* destroyed
    return yield* Effect.never
  })

  const untilClosed = Effect.exit(Stream.runForEach(input, receive))
  const farewell = Effect.andThen(order.idle, send({ type: "reconnect", ...GOING_DOWN })) // SocketSession.S5
  const untilDown = Effect.andThen(drain.ended, Effect.timeoutOption(farewell, FAREWELL_LIMIT))
  return yield* Effect.raceAllFirst([Effect.as(untilClosed, false), Effect.as(untilDown, true), signsOfLife]).pipe(
    Effect.ensuring(Effect.timeoutOption(order.idle, LAST_ANSWERS))
  )
})

interface KeyQueue {
  readonly oneAtATime: Semaphore.Semaphore
  commands: number
}

/**
 * Makes an order whose commands end with the scope: those of one key run one after the other, as they came. At most `most` are under way; a further
 * one waits to be accepted, so that its socket is not read on.
 */
export const commandOrder = (most: number) =>
  Effect.map(FiberSet.make<void>(), (fibers) => {
    const room = Semaphore.makeUnsafe(most)
    const queues = new Map<string, KeyQueue>()
    const queued = (key: string, command: Effect.Effect<void>): Effect.Effect<void> => {
      const queue = queues.get(key) ?? { oneAtATime: Semaphore.makeUnsafe(1), commands: 0 }
      queues.set(key, queue)
      queue.commands++
      return Effect.ensuring(
        queue.oneAtATime.withPermits(1)(command),
        Effect.sync(() => {
          queue.commands--
          if (queue.commands === 0) queues.delete(key)
        })
      )
    }
    return {
      /** Accepts a command; returns as soon as it is accepted, and its place in the order is fixed. */
      accept: (key: string, command: Effect.Effect<void>): Effect.Effect<void> =>
        Effect.andThen(
          room.take(1),
          Effect.asVoid(
            Effect.suspend(() =>
              FiberSet.run(fibers, Effect.ensuring(queued(key, command), room.release(1)), { startImmediately: true })
            )
          )
        ),
      /** Waits until no command is under way. */
      idle: FiberSet.awaitEmpty(fibers)
    }
  })

// --- internal

const frameOf = (message: SocketMessages.SocketMessage): Buffer => EventStreams.ofMessages([JSON.stringify(message)])

const BINARY = "The message is binary, and was not read. Expected a text with one JSON object."
