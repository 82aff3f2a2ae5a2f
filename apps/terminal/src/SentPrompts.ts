/** The prompts that were sent and are not in the history yet. Pure. */
import type { TurnEvent } from "@holdfast/wire"
import * as Foreign from "./text/Foreign.ts"
import type * as Transcript from "./transcript/Transcript.ts"

/** Stands among them for a manual retry, which has none. No prompt is empty. */
export const AGAIN = ""

/** The list without one of its texts. */
export const without = (texts: ReadonlyArray<string>, text: string): ReadonlyArray<string> =>
  texts.includes(text) ? texts.toSpliced(texts.indexOf(text), 1) : texts

/** The rest after an event and the entries that it added, and the prompts among them that another client sent. */
export const after = (
  sent: ReadonlyArray<string>,
  event: TurnEvent.TurnEvent,
  added: ReadonlyArray<Transcript.Entry>
): readonly [sent: ReadonlyArray<string>, others: ReadonlyArray<string>] => {
  const others: Array<string> = []
  let left = sent
  for (const entry of added) {
    if (entry.type !== "prompt") continue
    const own = left.find((text) => Foreign.shown(text) === entry.text)
    if (own === undefined) others.push(entry.text)
    else left = without(left, own)
  }
  if (event.type === "turn-start" && event.retry === true) left = left.filter((text) => text !== AGAIN)
  return [left, others]
}
