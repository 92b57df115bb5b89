package lab

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const probePatience = 2 * time.Second

// Servers on loopback sign their own certificates.
var insecureClient = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // loopback

// answersOK: a GET of the address has status 200.
func answersOK(ctx context.Context, client *http.Client, address, token string) error {
	_, err := get(ctx, client, address, token)
	return err
}

func get(ctx context.Context, client *http.Client, address, token string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", address, response.Status, strings.TrimSpace(string(body)))
	}
	return string(body), nil
}
