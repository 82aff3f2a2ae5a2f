/** `holdfast raise-limit`: raises a limit of spending of the running service. Turns and calls that ask about it go on. */
import { defined } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import { Argument, Flag } from "effect/cli"
import * as SpendLimits from "../../config/limits/SpendLimits.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Declaration from "../Declaration.ts"
import { Terminal } from "../terminal/Terminal.ts"
import * as Service from "./Service.ts"

/** The command. */
export const command = Service.command(
  {
    name: "raise-limit",
    does: "Raise a limit of spending, by default to as much again from now on: until midnight, or as long as its conversation",
    short: "Raise a limit of spending",
    options: {
      limit: Argument.Int("limit").pipe(Argument.withDescription("Its place in `spend` of the configuration, from 0")),
      tag: Declaration.text("tag", "TAG", "Of a limit of each tag: which"),
      conversationId: Declaration.conversation("Of a limit of each conversation: which"),
      money: Declaration.orUndefined(
        Flag.Finite("money").pipe(Flag.withMetavar("DOLLARS"), Flag.withDescription("US dollars more"))
      ),
      tokens: Declaration.orUndefined(Declaration.whole("tokens", "Tokens more", 1))
    },
    examples: {
      "holdfast raise-limit 0": "spend[0] allows as much again today",
      "holdfast raise-limit 1 --tag claude --tokens 500000": "So much more for Claude Code"
    }
  },
  Effect.fnUntraced(function* (given, client) {
    const terminal = yield* Terminal
    const raised = yield* client.raiseLimit(defined(given))
    const now = yield* Clock.currentTimeMillis
    const until = raised.until === undefined ? "" : ` until ${LocalTime.toSeconds(now)(raised.until)}`
    terminal.stdout(`spend[${raised.limit}] allows ${SpendLimits.figures(raised)} in all${until}.\n`)
  })
)
