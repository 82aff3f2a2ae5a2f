/** The next prompt of a conversation. Enter sends it, Shift and Enter begin a line. */
import { useMutation } from "@tanstack/react-query"
import { useId, useRef } from "react"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"

interface ComposerProps {
  readonly conversationId: string
  readonly isBusy: boolean
}

/** The field of the next prompt. */
export const Composer = ({ conversationId, isBusy }: ComposerProps) => {
  const id = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  const sending = useMutation({
    // The same id again is the same turn: a prompt whose response was lost is sent again.
    mutationFn: ({ prompt, turnId }: { readonly prompt: string; readonly turnId: string }) =>
      Service.client.conversation(conversationId).prompt(prompt, { turnId }),
    onSuccess: () => {
      if (field.current !== null) field.current.value = ""
    }
  })
  const send = (): void => {
    const prompt = field.current?.value.trim() ?? ""
    if (prompt === "" || sending.isPending) return
    const again = sending.isError && sending.variables.prompt === prompt ? sending.variables.turnId : undefined
    sending.mutate({ prompt, turnId: again ?? newId() })
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <label className="hidden" htmlFor={id}>
        Prompt
      </label>
      <textarea
        id={id}
        ref={field}
        rows={2}
        placeholder={isBusy ? "Next prompt" : "Prompt"}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          send()
        }}
      />
      <button type="submit" className="primary" disabled={sending.isPending}>
        Send
      </button>
      {sending.isError && (
        <p className="error-text" role="alert">
          Not sent: {Problems.wordsOf(sending.error)} The text is kept; send it again.
        </p>
      )}
    </form>
  )
}

/** An id that no other client chooses; `crypto.randomUUID` is missing in pages of other machines without TLS. */
export const newId = (): string =>
  `t_${Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("")}`
