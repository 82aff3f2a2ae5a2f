/** The flags that name turns or conversations of a service: `--since`, `--model`, `--tag`. */
import { defined } from "@holdfast/wire"
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import * as Since from "../Since.ts"

/** @param what "turns" or "conversations" */
export const flags = (what: string) => ({
  since: Flag.String("since").pipe(
    Flag.withMetavar("MOMENT"),
    Flag.withDescription(`Name ${what} since then: ${Since.EXPECTED}`),
    Flag.optional
  ),
  model: Flag.String("model").pipe(
    Flag.withAlias("m"),
    Flag.withMetavar("PROVIDER/MODEL"),
    Flag.withDescription(`Name ${what} of this model, or of this provider`),
    Flag.optional
  ),
  tag: Flag.String("tag").pipe(
    Flag.withMetavar("TAG"),
    Flag.withDescription(`Name ${what} with this tag`),
    Flag.optional
  )
})

/** The flags as a command line gives them. */
export interface Flags {
  readonly since: Option.Option<string>
  readonly model: Option.Option<string>
  readonly tag: Option.Option<string>
}

/** The filter that they mean; a moment that cannot be read is refused. */
export const of = ({ model, since, tag }: Flags, now: number) =>
  Effect.map(Option.isNone(since) ? Effect.undefined : Since.orRefused(since.value, now), (moment) =>
    defined({ since: moment, model: Option.getOrUndefined(model), tag: Option.getOrUndefined(tag) })
  )
