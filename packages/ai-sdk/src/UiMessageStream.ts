/**
 * A turn as a UI message stream, for `useChat` of the AI SDK and every other reader of that format.
 *
 * **Example** (A route that `useChat` calls)
 *
 * ```ts
 * export const POST = async (request: Request) => {
 *   const { id, messages } = await request.json()
 *   return uiMessageResponse(hf.turn(textOf(messages.at(-1)), { conversation: id }))
 * }
 * ```
 *
 * A reader that leaves ends neither the turn nor its wait.
 */
import type { TurnEvent } from "holdfast"
import * as UiMessageParts from "./UiMessageParts.ts"

/** The head of a response, and what keeps its connection open. */
export interface UiMessageResponseOptions {
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  /** A comment is sent this often, so that no proxy closes the connection in a long wait; 0: never. Default: 15,000. */
  readonly keepAliveMs?: number
}

/** The parts of a turn's events: a `Turn` of the library, or the events that the service sends. */
export const uiMessageStream = (events: AsyncIterable<TurnEvent>): ReadableStream<UiMessageParts.UiMessagePart> => {
  const iterator = events[Symbol.asyncIterator]()
  let state = UiMessageParts.initial
  return new ReadableStream({
    pull: async (controller) => {
      try {
        for (;;) {
          const { done, value } = await iterator.next()
          if (done === true) return controller.close()
          const [after, parts] = UiMessageParts.next(state, value)
          state = after
          for (const part of parts) controller.enqueue(part)
          if (parts.length > 0) return
        }
      } catch (error) {
        controller.enqueue({ type: "error", errorText: error instanceof Error ? error.message : String(error) })
        controller.close()
      }
    },
    // Not awaited: the next event may be hours away.
    cancel: () => void (async () => iterator.return?.())().catch(() => {})
  })
}

/** The same as the response to a request of `useChat`. */
export const uiMessageResponse = (
  events: AsyncIterable<TurnEvent>,
  { headers, keepAliveMs = 15_000, status = 200 }: UiMessageResponseOptions = {}
): Response => {
  const reader = uiMessageStream(events).getReader()
  const encoder = new TextEncoder()
  let timer: ReturnType<typeof setInterval> | undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      if (keepAliveMs > 0)
        timer = setInterval(() => {
          // A reader that does not read needs no more.
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(": keep-alive\n\n"))
        }, keepAliveMs)
    },
    pull: async (controller) => {
      const { done, value } = await reader.read()
      controller.enqueue(encoder.encode(`data: ${done ? "[DONE]" : JSON.stringify(value)}\n\n`))
      if (!done) return
      clearInterval(timer)
      controller.close()
    },
    cancel: async () => {
      clearInterval(timer)
      await reader.cancel()
    }
  })
  return new Response(body, { status, headers: { ...HEADERS, ...headers } })
}

// --- internal

/** As the AI SDK sends them; the last one is for nginx. */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no"
}
