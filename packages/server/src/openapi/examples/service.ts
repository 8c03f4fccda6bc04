import type { HttpExample } from './http-example.ts'

export const checkHealth: HttpExample[] = [{ name: 'alive', summary: 'Alive', status: 200, answer: { status: 'ok' } }]

export const checkReadiness: HttpExample[] = [
  { name: 'ready', summary: 'Ready', status: 200, answer: { status: 'ready' } },
]

export const getDescription: HttpExample[] = [
  {
    name: 'description',
    summary: 'This document, shortened',
    status: 200,
    answer: { openapi: '3.1.0', info: { title: 'Cubby' } },
  },
]

export const getDocsPage: HttpExample[] = [
  {
    name: 'page',
    summary: 'The page, shortened',
    status: 200,
    answer: '<!doctype html>\n<html lang="en">',
    contentType: 'text/html',
  },
]

export const preflight: HttpExample[] = [
  {
    name: 'put',
    summary: 'May a page send PUT?',
    parameters: { 'Access-Control-Request-Method': 'PUT' },
    status: 204,
    headers: { 'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, DELETE, OPTIONS' },
  },
]
