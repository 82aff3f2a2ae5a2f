/**
 * Runs one attempt over HTTP: request, status, frames, end.
 *
 * Transport.T1. One attempt is one request: nothing is sent again, and no redirect is followed (C9).
 * Transport.T2. A response that is no stream, and errors in the stream, are emitted as errors; a connection failure fails the stream
 *     (D3). Both are classified here and nowhere else (C1).
 * Transport.T3. The end of the body before the model has stopped is a failure (C6). A connection failure after that is ignored.
 * Transport.T4. `finish` waits for the end of the body, for a limited time, to receive late usage and to reuse the connection.
 * Transport.T5. The events of one network read are emitted as one array. While a text is under way they are pushed (`Push`).
 * Transport.T6. A response is bounded as a whole (C11), and so is its work in one turn of the event loop (`ReadPace`).
 * Transport.T7. When the stream's scope closes, for any reason, an unfinished connection is closed.
 */
import { Opening, type Provider, Push, ResponseLimit } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import { Array as Arr, Cause, Channel, Effect, Pull, Scope, Stream } from "effect"
import * as ResponseBody from "./http/ResponseBody.ts"
import * as Deadline from "./limits/Deadline.ts"
import * as Decoder from "./decoding/Decoder.ts"
import type { HttpResponse, Broken, ResponseListener } from "./http/Http.ts"
import * as ReadPace from "./http/ReadPace.ts"
import { Progress } from "./limits/Progress.ts"
import type { Machine } from "./decoding/Protocol.ts"
import * as KeyRedaction from "./KeyRedaction.ts"
import * as WholeBody from "./http/WholeBody.ts"

/** The longest wait for usage after the model has stopped, in milliseconds. Providers send it with the next frame. */
export const AWAIT_USAGE_MS = 1000

/** The longest wait for the body's end after the terminal frame, in milliseconds. Beyond this a new connection is cheaper. */
export const AWAIT_END_MS = 250

/** One attempt: its request, its protocol, and its limits. */
export interface Options {
  /** Sends the request. */
  readonly post: (scope: Scope.Scope) => Effect.Effect<HttpResponse, Broken>
  /** The same without a fiber, where the client supports it. */
  readonly begin?: ((world: Opening.World, listener: ResponseListener) => () => void) | undefined
  readonly machine: () => Machine
  /** Removes secrets from the endpoint's texts. */
  readonly conceal: KeyRedaction.Conceal
  /** The limit of the response (C11). */
  readonly request: Pick<Provider.ProviderRequest, "maxResponseCharacters">
}

/** The events of one attempt. */
export const stream = (options: Options): Opening.Events => {
  const { begin } = options
  const streamed = events(options)
  return begin === undefined ? streamed : Opening.attach(streamed, () => opening(options, begin))
}

// --- internal

/** The call without a fiber, until its response arrives. */
const opening =
  (options: Options, begin: NonNullable<Options["begin"]>): Opening.Opening =>
  (world, listener) => {
    const self = { ...options, now: world.now }
    const refuse = (judge: () => Opening.Refusal): void => listener.refused(orDefect(judge))
    return begin(world, {
      broken: (broken) => refuse(() => thrown(self)(broken)),
      refused: (answer, text) => refuse(() => judgedAs(self, answer, text)),
      answered: (answer, close) => {
        const post: Options["post"] = (scope) => Effect.as(Scope.addFinalizer(scope, Effect.sync(close)), answer)
        listener.answered({ rest: events({ ...options, post }), cancel: close })
      }
    })
  }

const orDefect = (judge: () => Opening.Refusal): Opening.Refusal => {
  try {
    return judge()
  } catch (defect) {
    return Opening.ofDefect(defect)
  }
}

const events = (options: Options): Opening.Events =>
  Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.clockWith((clock) =>
        Effect.map(Progress, (progress) =>
          attempt({ ...options, scope, progress, now: () => clock.currentTimeMillisUnsafe() })
        )
      )
    )
  )

type Events = Arr.NonEmptyReadonlyArray<Provider.ProviderEvent>
type EventPull = Pull.Pull<Events, Failure.ProviderFailure>

/** The dependencies of making a failure. */
interface FailureContext extends Pick<Options, "conceal"> {
  readonly now: () => number
}

interface Attempt extends Options, FailureContext {
  readonly scope: Scope.Scope
  readonly progress: () => void
}

type ErrorEvent = Extract<Provider.ProviderEvent, { readonly type: "error" }>

/** The failure of a response that is no stream. */
const judgedAs = (
  self: FailureContext,
  { headers, status }: Pick<HttpResponse, "headers" | "status">,
  body: string
): ErrorEvent => {
  const text = self.conceal(body)
  return cleanedError(
    self,
    { type: "error", failure: Classification.ofResponse({ status, headers, body: text, now: self.now() }) },
    text
  )
}

const cleanedError = (self: FailureContext, event: ErrorEvent, text: string): ErrorEvent => {
  const failure = cleanedFailure(self, event.failure)
  const body = WholeBody.of(text, failure)
  return { ...event, failure, ...(body === undefined ? undefined : { body: copied(body) }) }
}

/** Each pull does what `next` says, and says what the one after it does. */
const attempt = (self: Attempt): EventPull => {
  const most = ResponseLimit.of(self.request)
  /** While a text is under way. */
  let push: () => Push.Push<Events> | undefined = () => undefined
  let next: EventPull = Effect.suspend(() =>
    Effect.flatMap(Effect.mapError(self.post(self.scope), thrown(self)), answered)
  )

  const answered = (unpaced: HttpResponse): EventPull => {
    const answer = { ...unpaced, bytes: ReadPace.paced(unpaced.bytes) }
    return answer.status >= 200 && answer.status < 300 ? begun(answer) : refused(answer, [])
  }

  /** The endpoint has answered, and not with a stream. */
  const refused = (answer: HttpResponse, read: ReadonlyArray<Uint8Array>): EventPull =>
    Effect.map(ResponseBody.text(answer, read), (body) => judged(answer, body))

  const judged = (answer: HttpResponse, body: string): Arr.NonEmptyReadonlyArray<Provider.ProviderEvent> => {
    next = Cause.done()
    return [judgedAs(self, answer, body)]
  }

  /** A server that ignores `stream: true` sends one document; an error may arrive this way, too (C3). */
  const whole = (answer: HttpResponse, reads: ReadonlyArray<Uint8Array>): EventPull =>
    Effect.matchEffect(ResponseBody.document(answer.bytes, reads, Decoder.mostOfFrame(most), self.progress), {
      onFailure: (broken) => Effect.fail(thrown(self)(broken)),
      onSuccess: (text): EventPull => {
        next = Cause.done()
        if (text === undefined) return Effect.succeed([{ type: "error", failure: ResponseLimit.exceeded(most) }])
        const decoder = decoderOf(answer)
        if (!decoder.whole(text)) return Effect.succeed(judged(answer, text.slice(0, ResponseBody.MAX_BYTES)))
        return concluded(decoder)
      }
    })

  /** The text of an error frame. */
  let frame = ""
  const decoderOf = ({ headers }: HttpResponse): Decoder.Decoder =>
    Decoder.make(
      self.machine(),
      (data, event) => {
        frame = self.conceal(data)
        return Classification.ofStreamError({
          data: frame,
          ...(event === undefined ? undefined : { event }),
          headers,
          now: self.now()
        })
      },
      most
    )

  /** The pending events. Both the classifier and the machine make failures. */
  const taken = (decoder: Decoder.Decoder) => {
    const events = decoder.take()
    return decoder.standing() === "failed" ? Arr.map(events, (event) => cleaned(event, frame)) : events
  }
  const cleaned = (event: Provider.ProviderEvent, text: string): Provider.ProviderEvent =>
    event.type === "error" ? cleanedError(self, event, text) : event

  /** The last events of a response. */
  const concluded = (decoder: Decoder.Decoder): EventPull => {
    next = Cause.done()
    if (decoder.standing() !== "failed") decoder.finish()
    const events = taken(decoder)
    return Arr.isArrayNonEmpty(events) ? Effect.succeed(events) : next
  }

  /** Checks that a stream begins: a proxy's page and a JSON error may have a 200 and any media type (C3). */
  const begun = (answer: HttpResponse): EventPull =>
    Pull.matchEffect(answer.bytes, {
      onSuccess: (reads): EventPull => {
        switch (ResponseBody.kindOf(reads)) {
          case "blank":
            return begun(answer)
          case "page":
            return refused(answer, reads)
          case "json":
            return whole(answer, reads)
          case "stream":
            return streamed(answer)(reads)
        }
      },
      onFailure: (cause) => Effect.failCause(Cause.map(cause, thrown(self))),
      onDone: () => Effect.fail(incomplete)
    })

  const streamed = (answer: HttpResponse) => {
    const { bytes } = answer
    const decoder = decoderOf(answer)
    let held = 0

    const received = (reads: ReadonlyArray<Uint8Array>): EventPull => {
      decoder.feed(reads)
      return settle(read)
    }

    /** The calls that a failure leaves unfinished are named before it (A12). */
    const broken = (failing: EventPull): EventPull =>
      Effect.suspend(() => {
        const events = decoder.cut()
        next = failing
        return Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed([...events]) : failing
      })

    const read: EventPull = Pull.matchEffect(bytes, {
      onSuccess: received,
      onFailure: (cause) => broken(Effect.failCause(Cause.map(cause, thrown(self)))),
      onDone: () => {
        decoder.end()
        return settle(broken(Effect.fail(incomplete)))
      }
    })

    /** Emits the pending events; continues with `open` while the model has not stopped. */
    const settle = (open: EventPull): EventPull => {
      const standing = decoder.standing()
      next = standing === "open" ? open : standing === "failed" ? Cause.done() : drained
      const events = taken(decoder)
      if (Arr.isArrayNonEmpty(events)) return Effect.succeed(events)
      progressed()
      return next
    }
    const progressed = (): void => {
      if (decoder.held() <= held) return
      held = decoder.held()
      self.progress()
    }

    /** Decodes reads as they arrive. The next pull settles the end of the text. */
    const pushed =
      (source: Push.Push<ReadonlyArray<Uint8Array>>): Push.Push<Events> =>
      (take, over) =>
        source((reads) => {
          decoder.feed(reads)
          if (decoder.standing() !== "open") {
            next = Effect.suspend(() => settle(read))
            over()
            return false
          }
          const events = decoder.take()
          if (Arr.isArrayNonEmpty(events)) return take(events)
          progressed()
          return true
        }, over)
    push = () => {
      const source = next === read ? Push.of(bytes) : undefined
      return source && pushed(source)
    }

    /** Reads the rest of the body. Connection failures are ignored now (Transport.T3). */
    const drain: Effect.Effect<void> = Pull.matchEffect(bytes, {
      onSuccess: (reads) => {
        decoder.feed(reads)
        return decoder.standing() === "failed" ? Effect.void : drain
      },
      onFailure: (cause) => (Cause.hasInterrupts(cause) ? Effect.interrupt : Effect.void),
      onDone: () => Effect.sync(decoder.end)
    })

    const drained: EventPull = Effect.flatMap(
      Effect.suspend(() => Deadline.within(drain, decoder.standing() === "finished" ? AWAIT_END_MS : AWAIT_USAGE_MS)),
      () => concluded(decoder)
    )

    return received
  }

  return Push.attach(
    Effect.suspend(() => next),
    () => push()
  )
}

const thrown =
  (self: FailureContext) =>
  ({ cause }: Broken): Failure.ProviderFailure => {
    const failure = cleanedFailure(self, Classification.ofThrown(cause, self.now()))
    return new Failure.ProviderFailure({ failure })
  }

/** A failure without secrets. */
const cleanedFailure = <F extends Provider.EmittedFailure>({ conceal }: FailureContext, failure: F): F =>
  copied(KeyRedaction.inFailure(conceal, failure))

/**
 * A deep copy that keeps no other text alive: V8 keeps the whole text behind a slice, which may be megabytes for an error, and failures
 * are kept as long as an outage lasts.
 */
const copied = <A>(value: A): A => {
  const copy: A = JSON.parse(JSON.stringify(value))
  return copy
}

const incomplete = new Failure.ProviderFailure({ failure: Classification.incomplete() })
