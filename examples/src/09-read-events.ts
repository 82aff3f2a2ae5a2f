/**
 * Events of a turn from the bytes of a response, checked, however the network has cut them.
 *
 * Run it: `npx pnpm@12 exec node examples/src/09-read-events.ts`
 */
// #region read
import { Ndjson, type TurnEvent } from "@holdfast/wire"
import { Effect, Stream } from "effect"

/** Stands for the body of a response with `Accept: application/x-ndjson`. */
const body = Stream.make(
  '{"type":"text-delta","conversationId":"c1","turnId":"t1","del',
  'ta":"Still "}\n{"type":"text-delta","conversationId":"c1","turnId":"t1","delta":"here."}\n'
).pipe(Stream.map((text) => new TextEncoder().encode(text)))

const textOf = (event: TurnEvent.TurnEvent): string => (event.type === "text-delta" ? event.delta : "")

const events = await Effect.runPromise(Stream.runCollect(Stream.pipeThroughChannel(body, Ndjson.decode())))
console.log(events.map(textOf).join("")) // Still here.
// #endregion read
