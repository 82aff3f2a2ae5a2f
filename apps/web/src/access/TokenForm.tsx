/** Asks for the token of the service: once a browser, and again where a call was refused for it. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useEffect, useId } from "react"
import * as Service from "../service/Service.ts"

/** The form for the token. */
export const TokenForm = () => {
  const queries = useQueryClient()
  const id = useId()
  const entering = useMutation({
    mutationFn: Service.enter,
    onSuccess: (access) => queries.setQueryData(["access"], access)
  })
  const isWrong = entering.data === "token-needed"
  return (
    <main className="alone">
      <h1>Holdfast</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const token = new FormData(event.currentTarget).get("token")
          if (typeof token === "string" && token !== "" && !entering.isPending) entering.mutate(token.trim())
        }}
      >
        <label htmlFor={id}>Token of this service</label>
        <input
          id={id}
          name="token"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          aria-invalid={isWrong}
          aria-describedby={`${id}-help`}
        />
        <p id={`${id}-help`} className="quiet">
          It is <code>server.token</code> of the configuration. This browser keeps a session for 7 days, and not the
          token.
        </p>
        <button type="submit" className="primary" aria-disabled={entering.isPending}>
          Continue
        </button>
        <p role="alert" className="error-text">
          {isWrong && "This is not the token of the service."}
          {entering.isError && "The service does not answer. Try again in a moment."}
        </p>
      </form>
    </main>
  )
}

/** Makes the page ask for the token again after the refusal of a call: the token has changed, or the session has ended. */
export const useTokenCheck = (code: string | undefined): void => {
  const queries = useQueryClient()
  const isRefused = code === "unauthorized"
  useEffect(() => {
    if (isRefused) void queries.invalidateQueries({ queryKey: ["access"] })
  }, [isRefused, queries])
}
