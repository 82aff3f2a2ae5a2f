/** Why a page's reads fail. It goes on reading; where the service wants its token, the page asks for that instead. */
import { useTokenCheck } from "../access/TokenForm.tsx"
import * as Problems from "../service/Problems.ts"

/** The notice of an error; nothing without one. */
export const ReadFailure = ({ error }: { readonly error: Error | null }) => {
  useTokenCheck(Problems.codeOf(error))
  if (error === null) return null
  return (
    <p className="notice" role="status">
      {Problems.wordsOf(error)} The page reads it again by itself.
    </p>
  )
}
