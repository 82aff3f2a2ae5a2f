/**
 * Notices that the service has another version of the page, as after an update under an open tab.
 *
 * A part of the page that is loaded later and is gone since an update is no error: the page is loaded anew, at the same place.
 *
 * PageVersion.V2. A tab is loaded anew at most once for a version, so a broken build ends in an error and not in a loop.
 */
import { useQuery } from "@tanstack/react-query"

/** Whether the service has another version of the page than this tab. */
export const useIsOutdated = (): boolean => {
  const { data } = useQuery({
    queryKey: ["page-version"],
    queryFn: ({ signal }) => readVersion(signal),
    initialData: own,
    staleTime: EVERY_MS,
    refetchInterval: EVERY_MS,
    refetchOnWindowFocus: "always"
  })
  return data !== own
}

/** Loads a part of the page; waits where the service is away, and loads the page anew where the part is gone. */
export const load = async <A>(part: () => Promise<A>): Promise<A> => {
  for (;;) {
    try {
      return await part()
    } catch (error) {
      const version = await readVersion().catch(() => undefined)
      if (version !== undefined) return await anew(version, error)
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
}

// --- internal

const EVERY_MS = 60_000
const AGAIN_MS = 2_000

/** The version of this tab: the name of its first script, which has the hash of its content. */
const own = document.querySelector("script[src]")?.getAttribute("src") ?? ""

const readVersion = async (signal?: AbortSignal): Promise<string> => {
  const response = await fetch("/", { headers: { accept: "text/html" }, cache: "no-cache", signal: signal ?? null })
  if (!response.ok) throw new Error(`The service answered with the status ${response.status}.`)
  return /<script[^>]* src="([^"]+)"/.exec(await response.text())?.[1] ?? ""
}

const KEY = "holdfast-loaded-for"

/** PageVersion.V2 */
const anew = (version: string, error: unknown): Promise<never> => {
  if (sessionStorage.getItem(KEY) === version) throw error
  sessionStorage.setItem(KEY, version)
  location.reload()
  return new Promise(() => {})
}
