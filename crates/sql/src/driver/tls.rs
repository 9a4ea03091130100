//! TLS configuration and trusted certificates.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

use crate::{ErrorCode, SqlError, TlsMode};

/// Returns the TLS client configuration for a mode. Only `verify-full` verifies the server's
/// certificate.
pub fn client_config(tls: TlsMode, authorities: Option<&Path>) -> Result<ClientConfig, SqlError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|fault| SqlError::new(ErrorCode::XsqlInternal, fault.to_string()))?;
    let config = match tls {
        TlsMode::VerifyFull => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(load_certificates(authorities)?);
            builder.with_root_certificates(roots)
        }
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate(provider))),
    };
    Ok(config.with_no_client_auth())
}

/// Loads the CA certificates from a PEM file, or those of the operating system.
pub(super) fn load_certificates(
    authorities: Option<&Path>,
) -> Result<Vec<CertificateDer<'static>>, SqlError> {
    let found = match authorities {
        Some(path) => CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|fault| certificate_error(&format!("{}: {fault}", path.display())))?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    if found.is_empty() {
        return Err(certificate_error(&"no certificate was found"));
    }
    Ok(found)
}

fn certificate_error(detail: &impl ToString) -> SqlError {
    let message =
        "the CA certificates cannot be read; name a file of PEM certificates in the profile";
    SqlError::new(ErrorCode::XsqlCfgInvalid, message).with_detail(detail)
}

/// Verifier that accepts every certificate, for the modes `prefer` and `require`.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
