/** Runs a response through an adapter's decoder without a socket. */
import type { Provider } from "@holdfast/kernel"
import * as Decoder from "../../src/decoding/Decoder.ts"
import type { Machine, StreamStanding } from "../../src/decoding/Protocol.ts"

/** The events and end of a response, read in the given pieces. */
export const decode = (
  machine: Machine,
  reads: ReadonlyArray<Uint8Array | string>,
  most?: number
): { readonly events: ReadonlyArray<Provider.ProviderEvent>; readonly standing: StreamStanding } => {
  const decoder = Decoder.make(machine, (data) => ({ reason: "unknown", message: data }), most)
  decoder.feed(reads.map((read) => (typeof read === "string" ? new TextEncoder().encode(read) : read)))
  decoder.end()
  const standing = decoder.standing()
  if (standing === "finishing" || standing === "finished") decoder.finish()
  return { events: decoder.take(), standing }
}

/** The same events with neighbouring deltas of one kind as one: frames that arrive together may be one delta. */
export const joined = (events: ReadonlyArray<Provider.ProviderEvent>): ReadonlyArray<Provider.ProviderEvent> => {
  const out: Array<Provider.ProviderEvent> = []
  for (const event of events) {
    const last = out.at(-1)
    const isDelta = event.type === "text-delta" || event.type === "reasoning-delta"
    if (isDelta && last?.type === event.type) out[out.length - 1] = { ...last, delta: last.delta + event.delta }
    else out.push(event)
  }
  return out
}

/** Cuts bytes at these positions. */
export const cutAt = (bytes: Uint8Array, places: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const cuts = [...new Set([0, ...places.map((place) => place % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b
  )
  return cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end))
}
