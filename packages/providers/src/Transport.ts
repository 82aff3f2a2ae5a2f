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
import { ProviderCall, Push, ResponseLimit } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { defined } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as PlainBody from "./http/PlainBody.ts"
import * as Decoder from "./decoding/Decoder.ts"
import type { Endpoint } from "./http/Endpoint.ts"
import type { HttpResponse, Broken, ResponseListener } from "./http/Http.ts"
import * as ReadPace from "./http/ReadPace.ts"
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
export const provider = ({ bodyOf, endpointOf, machineOf, refuses }: Format): Provider.Provider["Service"] =>
  ProviderCall.provider((request, world, listener) => {
    const refused = Files.refusalOf(request, refuses)
    if (refused !== undefined) return ProviderCall.refuse(listener, refused)
    const { begin, conceal, post } = endpointOf(request)
    const options = {
      conceal,
      post: (scope: Scope.Scope) => post(bodyOf(request), scope),
      begin: begin && ((listener: ResponseListener) => begin(bodyOf(request), world, listener)),
      machine: machineWith(machineOf, Prompt.callId(request)),
      most: ResponseLimit.of(request)
    }
    return call(options, world, listener)
  })

/** One attempt: its request, its protocol, and its limits. */
export interface Options {
  /** Sends the request. */
  readonly post: (scope: Scope.Scope) => Effect.Effect<HttpResponse, Broken>
  /** The same without a fiber, where the client supports it. */
  readonly begin?: ((listener: ResponseListener) => () => void) | undefined
  readonly machine: () => Machine
  /** Removes secrets from the endpoint's texts. */
  readonly conceal: KeyRedaction.Conceal
  /** The limit of the response, in characters (C11). */
  readonly most: number
}

/** Makes one attempt. A response is read by a fiber; until it is there, a call that can begin without one has none. */
export const call = (
  { begin, post, ...options }: Options,
  world: ProviderCall.World,
  listener: ProviderCall.Listener
): ProviderCall.Running => {
  const self = { ...options, now: world.now, progress: listener.progress }
  if (begin === undefined)
    return ProviderCall.pulled(world, listener, (scope) => Effect.succeed(attempt(self, post(scope))))
  return ProviderCall.later((go) =>
    begin({
      broken: (broken) => go(() => ProviderCall.refuse(listener, AttemptFailures.ofBroken(self)(broken))),
      refused: (answer, text) =>
        go(() => ProviderCall.refuse(listener, AttemptFailures.ofResponse(self, answer, text))),
      answered: (answer, close) => go(() => answered(self, world, listener, answer, close))
    })
  )
}

// --- internal

/** In a function of its own (ProviderCall.L4). */
const machineWith = (machineOf: Format["machineOf"], idOf: (n: number) => string) => (): Machine => machineOf(idOf)

interface Attempt extends AttemptFailures.FailureContext, Pick<Options, "machine" | "most"> {
  readonly progress: () => void
}

/** In a function of its own (ProviderCall.L4). */
const answered = (
  self: Attempt,
  world: ProviderCall.World,
  listener: ProviderCall.Listener,
  answer: HttpResponse,
  close: () => void
): ProviderCall.Running =>
  ProviderCall.pulled(world, listener, (scope) =>
    Effect.as(Scope.addFinalizer(scope, Effect.sync(close)), attempt(self, Effect.succeed(answer)))
  )

/** The first pull makes the request and reads its status; what it finds decides `next`, the pull after it. */
const attempt = (self: Attempt, response: Effect.Effect<HttpResponse, Broken>): StreamedResponse.EventPull => {
  type EventPull = StreamedResponse.EventPull
  const { most } = self
  const failureOf = AttemptFailures.ofBroken(self)

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

  let next = Effect.flatMap(Effect.mapError(response, failureOf), answered)
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
