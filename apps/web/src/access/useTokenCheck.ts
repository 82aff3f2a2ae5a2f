/** Makes the page ask for the token again where a call was refused for it: the token has changed, or the session has ended. */
import { useQueryClient } from "@tanstack/react-query"
import { useEffect } from "react"

/** Watches the code of an error, if there is one. */
export const useTokenCheck = (code: string | undefined): void => {
  const queries = useQueryClient()
  const isRefused = code === "unauthorized"
  useEffect(() => {
    if (isRefused) void queries.invalidateQueries({ queryKey: ["access"] })
  }, [isRefused, queries])
}
