/** The next prompt of a conversation, with its files. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import type { Prompt } from "@holdfast/wire"
import { type ReactNode, type Ref, useId, useImperativeHandle, useRef } from "react"
import * as Draft from "../attach/Draft.ts"
import { keepDraft, PromptBox } from "../attach/PromptBox.tsx"
import { useAttached } from "../attach/useAttached.ts"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"

interface ComposerProps {
  readonly conversationId: string
  readonly isBusy: boolean
  /** Beside the button that sends. */
  readonly children: ReactNode
  /** Puts a prompt into the field, behind what is there. */
  readonly ref?: Ref<(prompt: Prompt.Prompt) => void>
}

/** The field of the next prompt. */
export const Composer = ({ children, conversationId, isBusy, ref }: ComposerProps) => {
  const id = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  const attached = useAttached()
  const queries = useQueryClient()
  const sending = useMutation({
    // The same id again is the same turn: a prompt whose response was lost is sent again.
    mutationFn: async ({ turnId, ...draft }: Draft.PromptDraft & { readonly turnId: string }) =>
      Service.client.conversation(conversationId).prompt(await Draft.promptOf(draft), { turnId }),
    onSuccess: () => {
      keepDraft(conversationId, "")
      if (field.current !== null) field.current.value = ""
      attached.clear()
      // A prompt that is queued changes nothing of the turn that the page follows.
      void Service.readAgain(queries, "state", conversationId)
    }
  })
  useImperativeHandle(ref, () => (prompt) => {
    if (field.current === null) return
    const { files, text } = Draft.of(prompt)
    field.current.value = [field.current.value.trim(), text].filter((part) => part !== "").join("\n\n")
    keepDraft(conversationId, field.current.value)
    attached.add(files)
    field.current.focus()
  })
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        const draft = { text: field.current?.value.trim() ?? "", files: attached.files }
        if (Draft.isEmpty(draft) || sending.isPending) return
        const isAgain = sending.isError && Draft.isSame(sending.variables, draft)
        sending.mutate({ ...draft, turnId: isAgain ? sending.variables.turnId : Draft.newId() })
      }}
    >
      <label className="hidden" htmlFor={id}>
        Prompt
      </label>
      <PromptBox
        id={id}
        draft={conversationId}
        field={field}
        attached={attached}
        rows={1}
        placeholder={isBusy ? "Next prompt: it is queued behind this turn" : "Prompt"}
        isPending={sending.isPending}
      >
        {children}
      </PromptBox>
      {sending.isError && (
        <p className="error-text" role="alert">
          Not sent: {Problems.wordsOf(sending.error)} The prompt is kept; send it again.
        </p>
      )}
    </form>
  )
}
