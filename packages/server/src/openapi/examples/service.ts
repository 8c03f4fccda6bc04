import type { Example } from './example.ts'

export const checkHealth: Example[] = [{ name: 'alive', summary: 'Alive', status: 200, answer: { status: 'ok' } }]

export const checkReadiness: Example[] = [
  { name: 'ready', summary: 'It can serve', status: 200, answer: { status: 'ready' } },
]

export const getDescription: Example[] = [
  {
    name: 'description',
    summary: 'This document, cut short',
    status: 200,
    answer: { openapi: '3.1.0', info: { title: 'Cubby' } },
  },
]

export const getDocsPage: Example[] = [
  {
    name: 'page',
    summary: 'The page, cut short',
    status: 200,
    answer: '<!doctype html>\n<html lang="en">',
    contentType: 'text/html',
  },
]

export const preflight: Example[] = [
  {
    name: 'put',
    summary: 'May a page send PUT?',
    parameters: { 'Access-Control-Request-Method': 'PUT' },
    status: 204,
    headers: { 'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, DELETE, OPTIONS' },
  },
]
