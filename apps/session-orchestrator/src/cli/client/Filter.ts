/** The flags that name turns or conversations of a service: `--since`, `--model`, `--tag`. */
import { defined } from "@holdfast/wire"
import { Effect } from "effect"
import * as Declaration from "../Declaration.ts"
import { Refused } from "../Ended.ts"
import * as Since from "../Since.ts"

/** @param what "turns" or "conversations" */
export const flags = (what: string) => ({
  since: Since.flag(`Name ${what} since then`),
  model: Declaration.model(`Name ${what} of this model, or of this provider`),
  tag: Declaration.text("tag", "TAG", `Name ${what} with this tag`)
})

/** The flags that name calls through the gateway, and one turn. */
export const ofTurns = {
  ...flags("turns"),
  client: Declaration.text(
    "client",
    "NAME",
    "Name calls through the gateway of this program (claude, codex, opencode …)"
  ),
  session: Declaration.text("session", "ID", "Name calls through the gateway of this session of a program"),
  turn: Declaration.parsed("turn", "ID", "Name one turn", Declaration.TURN)
}

/** The filter that the flags mean. */
export const of = ({ client, model, session, since, tag, turn }: Partial<Declaration.Given<typeof ofTurns>>) => {
  const tags = [tag, session, client?.toLowerCase()].filter((one) => one !== undefined)
  const gateway = session === undefined && client === undefined ? undefined : (true as const)
  return tags.length > 1
    ? Effect.fail(Refused.usage("Give one of --tag, --client and --session: a session has one client."))
    : Effect.succeed(defined({ since, model, tag: tags[0], gateway, turnIds: turn && [turn] }))
}
