/** Copies, downloads or deletes a conversation. */
import type { Conversation } from "@holdfast/client"
import type { Message } from "@holdfast/wire"
import { useQueryClient } from "@tanstack/react-query"
import { useRef } from "react"
import * as Actions from "../palette/Actions.ts"
import * as Service from "../service/Service.ts"
import * as PageRoute from "../shell/PageRoute.ts"
import { CommandFailure, useCommand } from "./CommandFailure.tsx"

interface MenuProps {
  readonly conversationId: string
  readonly title: string
}

/** The menu at the head of a conversation. */
export const Menu = ({ conversationId, title }: MenuProps) => {
  const { failure, send } = useCommand(conversationId)
  const queries = useQueryClient()
  const menu = useRef<HTMLDetailsElement>(null)
  const close = (): void => {
    menu.current?.removeAttribute("open")
    menu.current?.querySelector("summary")?.focus()
  }
  const markdownOf = async (conversation: Conversation) => transcript(title, await conversation.getMessages())
  const actions = [
    // Pages that are not on this machine and without TLS have no clipboard.
    ...(navigator.clipboard === undefined
      ? []
      : [
          {
            name: "Copy as Markdown",
            words: "export",
            run: () => send(async (conversation) => navigator.clipboard.writeText(await markdownOf(conversation)))
          }
        ]),
    {
      name: "Download as Markdown",
      words: "export save",
      run: () => send(async (conversation) => save(`${title}.md`, await markdownOf(conversation)))
    },
    {
      name: "Delete …",
      words: "remove",
      run: () => {
        if (!confirm(`Delete “${title}” with all its turns? A turn that runs or waits is ended.`)) return
        send(async (conversation) => {
          await conversation.delete()
          PageRoute.go({ page: "conversations" })
          await Service.readAgain(queries, "conversations")
        })
      }
    }
  ]
  Actions.useActions("This conversation", actions)
  return (
    <>
      <details className="menu" ref={menu} onKeyDown={({ key }) => key === "Escape" && close()}>
        <summary className="small">More</summary>
        <div className="menu-box" onClick={close}>
          {actions.map(({ name, run }) => (
            <button key={name} type="button" className="small" onClick={run}>
              {name}
            </button>
          ))}
        </div>
      </details>
      <CommandFailure failure={failure} />
    </>
  )
}

/** The messages as Markdown, each below who wrote it. */
export const transcript = (title: string, messages: ReadonlyArray<Message.Message>): string =>
  [`# ${title}`, ...messages.flatMap(entryOf)].join("\n\n") + "\n"

// --- internal

const save = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/markdown" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name.replaceAll(/[\\/:*?"<>|]/g, "-")
  link.click()
  URL.revokeObjectURL(url)
}

const entryOf = (message: Message.Message): ReadonlyArray<string> => {
  const parts = message.content.map(textOf).filter((text) => text !== "")
  if (parts.length === 0) return []
  const who = message.role === "user" ? "You" : message.role === "assistant" ? (message.target ?? "Answer") : "Tools"
  return [`## ${who}`, ...parts]
}

const textOf = (part: Message.Message["content"][number]): string => {
  switch (part.type) {
    case "text":
      return part.text
    case "tool-call":
      return `Call of \`${part.toolName}\``
    case "tool-result":
      return `Result of \`${part.toolName}\``
    case "file":
      return `[${part.name ?? part.mediaType}]`
    default:
      return ""
  }
}
