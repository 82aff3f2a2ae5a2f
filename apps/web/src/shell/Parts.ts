/**
 * Parts of the page that are loaded after its first paint.
 *
 * The list and the form of a new conversation need none of them. The part of the page's address is loaded beside them. An opened
 * conversation is loaded later otherwise, so that a click need not wait for it.
 */
import { lazy } from "react"
import * as PageVersion from "./PageVersion.ts"
import type { PageRoute } from "./PageRoute.ts"

const conversation = () => import("../conversation/ConversationPage.tsx")
const night = () => import("../night/NightPage.tsx")
const health = () => import("../health/HealthPage.tsx")
const before = () => import("../before/BeforePage.tsx")

/** An opened conversation, with Markdown. */
export const ConversationPage = lazy(() =>
  PageVersion.load(conversation).then(({ ConversationPage }) => ({ default: ConversationPage }))
)

/** The night, with its timeline. */
export const NightPage = lazy(() => PageVersion.load(night).then(({ NightPage }) => ({ default: NightPage })))

/** The health of endpoints. */
export const HealthPage = lazy(() => PageVersion.load(health).then(({ HealthPage }) => ({ default: HealthPage })))

/** The schedule and its dry runs. */
export const BeforePage = lazy(() => PageVersion.load(before).then(({ BeforePage }) => ({ default: BeforePage })))

/** Loads what will be needed. A failure is left to the part itself, once it is shown. */
export const loadAhead = (route: PageRoute): void => {
  const part = route.page === "new" || route.page === "conversations" ? undefined : PARTS[route.page]
  const load = (part: () => Promise<unknown>): void => void part().catch(() => undefined)
  if (part !== undefined) load(part)
  addEventListener("load", () => setTimeout(() => load(conversation), QUIET_MS), { once: true })
}

// --- internal

const PARTS = { conversation, night, health, before }

/** Behind the load of the page: its first calls come before. */
const QUIET_MS = 1_000
