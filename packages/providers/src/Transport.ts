/**
 * Runs one attempt over HTTP: request, status, frames, end.
 *
 * Transport.T1. One attempt is one request: nothing is sent again, and no redirect is followed (C9).
 * Transport.T2. A response that is no stream, and errors in the stream, are emitted as errors; a connection failure fails the stream
 *     (D3). Both are classified here and nowhere else (C1).
 * Transport.T3. A response is bounded as a whole (C11), and so is its work in one turn of the event loop (`ReadPace`).
 * Transport.T4. When the stream's scope closes, for any reason, an unfinished connection is closed.
 */
import type { Provider } from "@holdfast/kernel"
import { Opening, Push, ResponseLimit } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { defined } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as PlainBody from "./http/PlainBody.ts"
import * as Decoder from "./decoding/Decoder.ts"
import type { Endpoint } from "./http/Endpoint.ts"
import type { HttpResponse, Broken, ResponseListener } from "./http/Http.ts"
import * as ReadPace from "./http/ReadPace.ts"
import { ResponseProgress } from "./limits/ResponseProgress.ts"
import type { Machine } from "./decoding/Protocol.ts"
import type * as KeyRedaction from "./KeyRedaction.ts"
import * as Files from "./requests/Files.ts"
import * as Prompt from "./requests/Prompt.ts"
import * as AttemptFailures from "./transport/AttemptFailures.ts"
import * as StreamedResponse from "./transport/StreamedResponse.ts"

/** A wire format at an endpoint. */
export interface Format {
  readonly endpointOf: (request: Provider.ProviderRequest) => Endpoint
  readonly refuses: Files.Refuses
  readonly bodyOf: (request: Provider.ProviderRequest) => unknown
  /** `idOf` gives an id to the nth tool call where the endpoint gave none. */
  readonly machineOf: (idOf: (n: number) => string) => Machine
}

/** A provider of a wire format. One attempt is one request (C9). */
export const provider = ({ bodyOf, endpointOf, machineOf, refuses }: Format): Provider.Provider["Service"] => ({
  stream: (request) => {
    const refused = Files.refusalOf(request, refuses)
    if (refused !== undefined) return Stream.fail(refused)
    const { begin, conceal, post } = endpointOf(request)
    return stream({
      conceal,
      post: (scope) => post(bodyOf(request), scope),
      begin: begin && ((world, listener) => begin(bodyOf(request), world, listener)),
      machine: () => machineOf(Prompt.callId(request)),
      request
    })
  }
})

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
      broken: (broken) => refuse(() => AttemptFailures.ofBroken(self)(broken)),
      refused: (answer, text) => refuse(() => AttemptFailures.ofResponse(self, answer, text)),
      answered: (answer, close) => listener.answered(answered(options, answer, close))
    })
  }

/** Opening.O4 */
const answered = (options: Options, answer: HttpResponse, close: () => void): Opening.Answered => {
  const post: Options["post"] = (scope) => Effect.as(Scope.addFinalizer(scope, Effect.sync(close)), answer)
  return { rest: events({ ...options, post }), cancel: close }
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
        Effect.map(ResponseProgress, (progress) =>
          attempt({ ...options, scope, progress, now: () => clock.currentTimeMillisUnsafe() })
        )
      )
    )
  )

interface Attempt extends Options, AttemptFailures.FailureContext {
  readonly scope: Scope.Scope
  readonly progress: () => void
}

/** The first pull makes the request and reads its status; what it finds decides `next`, the pull after it. */
const attempt = (self: Attempt): StreamedResponse.EventPull => {
  type EventPull = StreamedResponse.EventPull
  const most = ResponseLimit.of(self.request)
  const failureOf = AttemptFailures.ofBroken(self)
  let next: EventPull = Effect.suspend(() =>
    Effect.flatMap(Effect.mapError(self.post(self.scope), failureOf), answered)
  )

  const answered = (unpaced: HttpResponse): EventPull => {
    const response = { ...unpaced, bytes: ReadPace.paced(unpaced.bytes) }
    return response.status >= 200 && response.status < 300 ? begun(response) : refused(response, [])
  }

  /** Checks that a stream begins: a proxy's page and a JSON error may have a 200 and any media type (C3). */
  const begun = (response: HttpResponse): EventPull =>
    Pull.matchEffect(response.bytes, {
      onSuccess: (reads): EventPull => {
        switch (PlainBody.kindOf(reads)) {
          case "blank":
            return begun(response)
          case "page":
            return refused(response, reads)
          case "json":
            return whole(response, reads)
          case "stream": {
            const { progress } = self
            next = StreamedResponse.make({ ...response, failureOf, progress, ...decoding(self, response, most) }, reads)
            return next
          }
        }
      },
      onFailure: (cause) => Effect.failCause(Cause.map(cause, failureOf)),
      onDone: () => Effect.fail(StreamedResponse.incomplete)
    })

  /** The endpoint has responded, and not with a stream. */
  const refused = (response: HttpResponse, read: ReadonlyArray<Uint8Array>): EventPull =>
    Effect.map(PlainBody.text(response, read), (body) => failed(response, body))

  const failed = (response: HttpResponse, body: string): Arr.NonEmptyReadonlyArray<Provider.ProviderEvent> => {
    next = Cause.done()
    return [AttemptFailures.ofResponse(self, response, body)]
  }

  /** A server that ignores `stream: true` sends one document; an error may arrive this way, too (C3). */
  const whole = (response: HttpResponse, reads: ReadonlyArray<Uint8Array>): EventPull =>
    Effect.matchEffect(PlainBody.document(response.bytes, reads, Decoder.mostOfFrame(most), self.progress), {
      onFailure: (broken) => Effect.fail(failureOf(broken)),
      onSuccess: (text): EventPull => {
        next = Cause.done()
        if (text === undefined) return Effect.succeed([{ type: "error", failure: ResponseLimit.exceeded(most) }])
        const { decoder, take } = decoding(self, response, most)
        if (!decoder.whole(text)) return Effect.succeed(failed(response, text.slice(0, PlainBody.MAX_BYTES)))
        return StreamedResponse.lastOf(decoder, take)
      }
    })

  return Push.attach(
    Effect.suspend(() => next),
    () => Push.of(next)
  )
}

/** A decoder of the response, and its events with errors that have no secrets. Both the classifier and the machine make failures. */
const decoding = (
  self: Attempt,
  { headers }: HttpResponse,
  most: number
): Pick<StreamedResponse.Options, "decoder" | "take"> => {
  /** The text of an error frame. */
  let frame = ""
  const classify = (data: string, event: string | undefined) => {
    const { failure, text } = AttemptFailures.classified(self, data, (data) =>
      Classification.ofStreamError({ data, ...defined({ event }), headers, now: self.now() })
    )
    frame = text
    return failure
  }
  const decoder = Decoder.make(self.machine(), classify, most)
  const redacted = (event: Provider.ProviderEvent): Provider.ProviderEvent =>
    event.type === "error" ? AttemptFailures.ofEvent(self, event, frame) : event
  return {
    decoder,
    take: () => {
      const events = decoder.take()
      return decoder.standing() === "failed" ? Arr.map(events, redacted) : events
    }
  }
}
