/** Runs a client once, and checks that it ends well and what it prints. */
import { randomBytes } from "node:crypto"
import { ensure, same } from "../../tools/src/acceptance/Report.ts"
import type * as Member from "./Member.ts"
import * as Run from "./Run.ts"

/** A text that no other run has. */
export const secret = (): string => randomBytes(6).toString("hex")

/** An answer that no other run has. */
export const answer = (): string => `The night was quiet, said ${secret()}.`

/** Runs a client while `use` looks on. A client that fails before its time fails at once, with what it printed. */
export const started = async (
  member: Member.Member,
  url: string,
  use: (run: Run.Run) => Promise<void>,
  files: Readonly<Record<string, string>> = {}
): Promise<void> => {
  const run = await Run.start(member, url, PROMPT, files)
  try {
    const early = run.ended.then(({ exitCode, stderr, stdout }) => {
      if (exitCode !== 0 && !run.isInterrupted)
        throw new Error(`${member.client.name} ended with ${exitCode}.\n${stdout}\n${stderr}`)
      return new Promise<never>(() => {})
    })
    await Promise.race([use(run), early])
  } finally {
    await run.remove()
  }
}

/** Fails unless a run has shown a text so often, and has ended well. */
export const answered = ({ exitCode, stderr, stdout }: Run.Ended, text: string, times = 1): void => {
  const shown = stdout.split(text).length - 1
  ensure(shown === times, `The answer was shown ${shown} times.\n${stdout}\n${stderr}`)
  same(exitCode, 0, "exit code")
}

// --- internal

const PROMPT = "Say which word the file has. Do not explain."
