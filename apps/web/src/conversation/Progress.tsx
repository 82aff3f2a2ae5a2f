/** The answer that is arriving, and text that was shown and is void. */
import type { ConversationView } from "@holdfast/client"
import * as Moments from "../text/Moments.ts"
import { useNow } from "../time/Now.ts"
import { FileBox } from "./FileBox.tsx"
import { MarkdownInProgress } from "./Markdown.tsx"
import { Reasoning } from "./Reasoning.tsx"
import { ToolCall } from "./ToolCall.tsx"

/** What is not yet part of the history. */
export const Progress = ({ view }: { readonly view: ConversationView.ConversationView }) => {
  const { history, missingTools, progress, retry, status, toolCalls, voided } = view
  const newest = history.at(-1)
  // The finished message shows its calls itself.
  const isListed = newest?.type === "message" && newest.message.role === "assistant"
  const parts = progress?.parts ?? []
  const isQuiet = status === "running" && parts.length === 0 && toolCalls.length === 0 && missingTools === undefined
  return (
    <>
      {voided !== undefined && <Voided voided={voided} />}
      {missingTools !== undefined && <MissingTools missing={missingTools} />}
      {(parts.length > 0 || (toolCalls.length > 0 && !isListed)) && (
        <article className="message assistant arriving" aria-busy="true">
          <div className="from">
            <h2>{progress?.target ?? view.model}</h2>
          </div>
          {parts.map((part, index) =>
            part.type === "text" ? (
              <MarkdownInProgress key={index} text={part.text} />
            ) : part.type === "file" ? (
              <FileBox key={index} file={part} of="the model" />
            ) : (
              <Reasoning key={index} text={part.text} isArriving />
            )
          )}
          {!isListed &&
            toolCalls.map((call) => (
              <ToolCall key={call.toolCallId} toolName={call.toolName} input={call.input} result={call} />
            ))}
        </article>
      )}
      {isQuiet && retry === undefined && (
        <p className="quiet line">
          <span className="pulse" aria-hidden="true" /> Waiting for the first words of {view.model ?? "the model"} …
        </p>
      )}
    </>
  )
}

// --- internal

type Voided = NonNullable<ConversationView.ConversationView["voided"]>

/** Void text stays until new text is there: what a person has read is taken back before their eyes. */
const Voided = ({ voided: { message, parts } }: { readonly voided: Voided }) => {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("")
  return (
    <section className="voided" aria-label="Text that was taken back">
      <p>
        <strong>Taken back:</strong> {message}
      </p>
      {text !== "" && <del className="verbatim">{text}</del>}
    </section>
  )
}

type Missing = NonNullable<ConversationView.ConversationView["missingTools"]>

const MissingTools = ({ missing: { servers, until } }: { readonly missing: Missing }) => {
  const now = useNow()
  return (
    <div className="notice">
      <p>
        {until === undefined
          ? "The turn runs without these tool servers:"
          : `The turn waits for tool servers, until ${Moments.moment(until, now)}:`}
      </p>
      <ul>
        {servers.map(({ message, server }) => (
          <li key={server}>
            <code>{server}</code> {message}
          </li>
        ))}
      </ul>
    </div>
  )
}
