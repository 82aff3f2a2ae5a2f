/**
 * Sends commands for many turns to the runners that own them: one message to each runner.
 *
 * GroupedCommands.G1. The owner of the first turn gets all of them, carries out those that it can, and returns the others. What is
 *     elsewhere goes to the owner of the first of those, and so on: no runner has to know which turns another one owns.
 * GroupedCommands.G2. Each command has an outcome of its own. A command that needs its conversation in memory is sent to that conversation.
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import { type CommandOutcome, refused, type TurnCommand } from "../conversation/TurnCommands.ts"

/** The answer of a runner. */
export type RunnerOutcome = CommandOutcome | { readonly outcome: "elsewhere" } | { readonly outcome: "loaded" }

/** How commands are sent. */
export interface Senders {
  /** To the runner that owns a conversation. */
  readonly toOwner: (
    id: Ids.ConversationId,
    commands: ReadonlyArray<TurnCommand>
  ) => Effect.Effect<ReadonlyArray<RunnerOutcome>, StorageError>
  /** To their conversations. */
  readonly alone: (commands: ReadonlyArray<TurnCommand>) => Effect.Effect<ReadonlyArray<CommandOutcome>>
}

/** Another runner owns the turn. */
export const ELSEWHERE: RunnerOutcome = { outcome: "elsewhere" }
/** The conversation has to be in memory for the command. */
export const LOADED: RunnerOutcome = { outcome: "loaded" }

/** Whether a command can be carried out on disk; an answer about a tool call cannot: only its conversation knows the tools. */
export const isForDisk = ({ command: { type } }: TurnCommand): boolean => type !== "answer-tool"

/** Carries out the commands, and returns the outcome of each. */
export const run = Effect.fnUntraced(function* (
  { alone, toOwner }: Senders,
  commands: ReadonlyArray<TurnCommand>
): Effect.fn.Return<ReadonlyArray<CommandOutcome>> {
  const outcomes = new Map<TurnCommand, CommandOutcome>()
  const single = commands.filter((command) => !isForDisk(command))
  let left = commands.filter(isForDisk)
  for (;;) {
    const [first] = left
    if (first === undefined) break
    const asked = left
    const answers = yield* Effect.match(toOwner(first.command.conversationId, asked), {
      onFailure: (error) => asked.map((): RunnerOutcome => refused(error)),
      onSuccess: (answers) => answers
    })
    left = []
    for (const [i, command] of asked.entries()) {
      const answer = answers[i] ?? { outcome: "loaded" }
      // The first turn has moved while its owner was asked: its conversation finds the next owner.
      if (answer.outcome === "loaded" || (answer.outcome === "elsewhere" && command === first)) single.push(command)
      else if (answer.outcome === "elsewhere") left.push(command)
      else outcomes.set(command, answer)
    }
  }
  const others = yield* alone(single)
  for (const [i, command] of single.entries()) outcomes.set(command, others[i] ?? NOT_ANSWERED)
  return commands.map((command) => outcomes.get(command) ?? NOT_ANSWERED)
})

// --- internal

const NOT_ANSWERED: CommandOutcome = { outcome: "refused", message: "The command was not answered. Send it again." }
